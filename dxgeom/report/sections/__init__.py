"""What the review page says, a file per section, and what a change of policy does; all of it as a document.

Lives here: sections, warnings, and the pages made of them. Touches the facts, and what they are about; reads no data.
"""
