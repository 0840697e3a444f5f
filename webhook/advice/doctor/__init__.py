"""What is wrong with an installation: questions to a cluster, and what the answers come to.

Everything is asked beforehand (``questions``), by whoever can; each check is a function of what was
seen to findings; ``checkup`` has the list of them, and ``report`` the words.
"""
