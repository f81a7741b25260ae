"""Tabs and single quotes."""

from __future__ import annotations

import sys, json


class Box:
	def __init__(self, items):
		self.items = items

	def show(self):
		return json.dumps({'items': self.items})

	@property
	def size(self):
		count = 0
		for _ in self.items:
			count += 1
		return count


if __name__ == '__main__':
	sys.stdout.write(Box(['a', 'b']).show() + str(Box([]).size) + '\n')
