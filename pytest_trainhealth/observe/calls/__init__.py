"""The torch functions that the user's code calls, seen one by one at the steps that are examined closely."""
