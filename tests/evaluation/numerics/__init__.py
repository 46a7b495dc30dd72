"""Programs of the corpus whose values stop being finite: is the operation named that did it, and its line?"""
