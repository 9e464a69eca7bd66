/** Without the repository, which stands before it: `pr/7/check/unit`. */
export const shortKey = (workKey: string): string => workKey.replace(/^(?:\d+|git:[0-9a-f]{32})\//, '');
