"""The kinds of questions, a file each: the words that ask for one, how it is planned, what a plan file keeps of it.

Lives here: ``registry``, a line for each kind, which every room may read: it names them, and loads one when it is asked
for. The other files touch the words of queries, the planner and plan files.
"""
