# No function, no import.
words = ["one", "two"]
for word in words:
    print(word)
