/** Generated files of a trimmed gateway. Pure. */
import type { InstalledPackage } from "./package-tree.ts";

export interface Contents {
  readonly plugins: readonly ChosenPlugin[];
  /** Packages that plugins import or that run them. */
  readonly foundation: readonly InstalledPackage[];
  /** Size of all files in node_modules. */
  readonly size: Size;
  /** Size with every plugin of the bundle; absent if the bundle is not installed. */
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

/** File texts by path. */
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

/**
 * Choice: state next to the program, so that the directory is self-contained; a container sets SVC_STATE_DIR to its
 * volume.
 */
const COMMAND = `#!/usr/bin/env node
// The command \`svc\` of this directory: configuration and state are next to this file, unless the environment sets other paths.
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

This gateway needs only Node ${engines}: \`node_modules\` is complete, so nothing has to be installed.

    node svc.js gateway run

\`node svc.js\` is the command \`svc\` with the configuration \`svc.json\` and the state directory \`state\` in this directory;
\`SVC_CONFIG_PATH\` and \`SVC_STATE_DIR\` select other paths.

| plugin | package | version |
| --- | --- | --- |
${rows.join("\n")}

| | packages | size |
| --- | ---: | ---: |
${sizes.join("\n")}

Native add-ons: ${platform}.
`;
}
