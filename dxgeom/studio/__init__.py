"""The policy studio: a page on this computer on which a policy is tried out before somebody signs it.

Lives here: the draft of a policy and the numbers in it that can be moved, what the page asks and is answered, the
server, and the page itself with its scripts. Reads no data, and writes no file but the policy it was started for.
"""
