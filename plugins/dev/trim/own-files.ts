/** The files of a trimmed gateway beside its packages. Pure. */
import type { InstalledPackage } from "./package-tree.ts";

export interface Contents {
  readonly plugins: readonly ChosenPlugin[];
  /** Packages that plugins import or that run them. */
  readonly foundation: readonly InstalledPackage[];
  /** Of all files in node_modules. */
  readonly size: Size;
  /** Of the same with every plugin of the bundle; absent where the bundle is not installed. */
  readonly full?: Size;
  readonly engines: string;
  readonly platform: string;
}

export interface ChosenPlugin {
  readonly id: string;
  readonly package: InstalledPackage;
  /** Files that the host imports, relative to the package. */
  readonly entries: readonly string[];
}

export interface Size {
  readonly packages: number;
  readonly bytes: number;
}

/** By path. */
export function ownFiles(contents: Contents): Readonly<Record<string, string>> {
  return {
    "package.json": json(packageJson(contents)),
    "svc.json": json({ plugins: { use: contents.plugins.map(({ package: { name } }) => name) } }),
    "svc.js": COMMAND,
    "README.md": readme(contents),
  };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function packageJson({ plugins, foundation, engines }: Contents): object {
  const packages = [...foundation, ...plugins.map((plugin) => plugin.package)];
  const sorted = packages.sort((left, right) => (left.name < right.name ? -1 : 1));
  return {
    name: "svc-trimmed",
    version: "0.0.0",
    private: true,
    type: "module",
    scripts: { start: "node svc.js gateway run" },
    dependencies: Object.fromEntries(sorted.map(({ name, version }) => [name, version])),
    engines: { node: engines },
  };
}

/** Choice: state beside the program, so that the directory is one whole; a container sets SVC_STATE_DIR to its volume. */
const COMMAND = `#!/usr/bin/env node
// The command \`svc\` of this directory: configuration and state lie beside this file, unless the environment says otherwise.
import { fileURLToPath } from "node:url";

const beside = (name) => fileURLToPath(new URL(name, import.meta.url));
process.env.SVC_CONFIG_PATH ||= beside("./svc.json");
process.env.SVC_STATE_DIR ||= beside("./state");
await import("./node_modules/@svc/cli/svc.js");
`;

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** E.g. `12 packages, 9.1 MB`. */
export function sizeText({ packages, bytes }: Size): string {
  return `${packages} packages, ${megabytes(bytes)}`;
}

function readme({ plugins, size, full, engines, platform }: Contents): string {
  const rows = plugins.map(({ id, package: { name, version } }) => `| ${id} | ${name} | ${version} |`);
  const sizes = [`| this directory | ${size.packages} | ${megabytes(size.bytes)} |`];
  if (full) sizes.push(`| with every plugin of the bundle | ${full.packages} | ${megabytes(full.bytes)} |`);
  return `# A trimmed gateway

Runs with Node ${engines} and nothing else; \`node_modules\` is complete, there is nothing to install.

    node svc.js gateway run

\`node svc.js\` is the command \`svc\` with the configuration \`svc.json\` and the state directory \`state\` of this directory;
\`SVC_CONFIG_PATH\` and \`SVC_STATE_DIR\` name others.

| plugin | package | version |
| --- | --- | --- |
${rows.join("\n")}

| | packages | size |
| --- | ---: | ---: |
${sizes.join("\n")}

Add-ons in machine code: ${platform}.
`;
}
