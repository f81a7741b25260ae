"use strict";

exports.total = function total(values) {
  return values.reduce((sum, value) => sum + value, 0);
};
