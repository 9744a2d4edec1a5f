// Writes the quoted examples into README.md: each block that begins with `// examples/...` gets that file's text.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const readme = readFileSync("README.md", "utf8");
const quoted = readme.replace(
  /(```\w+\n\/\/ (examples\/\S+)\n)[\s\S]*?```/g,
  (_, head, path) => `${head}${readFileSync(path, "utf8")}\`\`\``,
);
writeFileSync("README.md", quoted);
