"""Programs of the corpus whose values stop being finite: does the first finding name the right operation and line?"""
