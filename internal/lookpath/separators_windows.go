package lookpath

const separators = `/\:`
