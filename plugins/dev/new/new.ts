/** `svc plugins new <name>`: creates a package with a plugin of the given kind, its types, its test and its README. */
import { EXIT, refuse } from "@svc/cli";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { idProblem } from "@svc/host/local";
import type { CommandContext } from "@svc/sdk/cli";
import { FACTS, type Kind, KINDS, named } from "./kinds.ts";
import { packageFiles, releaseOf } from "./package-files.ts";

export interface NewFlags extends Partial<Record<Kind, boolean>> {
  readonly dir?: string;
}

/** Directory of the templates, next to the bundle. */
const TEMPLATES = fileURLToPath(new URL("./templates/", import.meta.url));

/** @returns the exit code; a failure leaves nothing behind and overwrites nothing */
export function newPlugin(name: string, flags: NewFlags, output: CommandContext): number {
  const [kind = "namespace", second] = KINDS.filter((one) => flags[one]);
  if (second)
    return refuse(
      `--${kind} and --${second}: choose one of them\nNext: svc plugins new ${name} --${kind}`,
      output,
      EXIT.usage,
    );
  const wrong = idProblem(name);
  if (wrong !== undefined) return refuse(`${wrong}\nNext: svc plugins new my-${kind}`, output, EXIT.usage);
  const parent = resolve(flags.dir ?? ".");
  if (!existsSync(parent)) return refuse(`there is no directory ${parent}\nNext: mkdir -p ${parent}`, output);
  const directory = join(parent, name);
  if (existsSync(directory))
    return refuse(`${directory} already exists; nothing was changed\nNext: choose another name, or --dir`, output);

  const files = { ...filesOf(kind, name), ...packageFiles(kind, name, releaseOf(directory)) };
  writeWhole(directory, files);
  if (output.json) output.print({ name, kind, directory, files: Object.keys(files).sort() });
  else output.print(told(kind, directory, Object.keys(files)));
  return 0;
}

/** The files of a new package: the templates of its kind, with the placeholders replaced. */
function filesOf(kind: Kind, name: string): Record<string, string> {
  const from = join(TEMPLATES, kind);
  const entries = readdirSync(from, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    entries.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [named(relative(from, file), { name }), named(readFileSync(file, "utf8"), { name })];
    }),
  );
}

/**
 * Writes all files or none: writes to a draft directory next to the target, and moves the draft directory to the
 * target.
 * @throws Error of the file system
 */
export function writeWhole(directory: string, files: Readonly<Record<string, string>>): void {
  const draft = `${directory}.${process.pid}.new`;
  mkdirSync(draft);
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(draft, name)), { recursive: true });
      writeFileSync(join(draft, name), text, { flag: "wx" });
    }
    renameSync(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

function told(kind: Kind, directory: string, files: readonly string[]): string {
  const here = relative(process.cwd(), directory) || directory;
  const steps = ["npm install", "npm test", ...(FACTS[kind].svc ? ["npm run dev"] : [])];
  return [
    `created ${here}: ${files.toSorted().join(", ")}`,
    "Next:",
    `  cd ${here}`,
    ...steps.map((step) => `  ${step}`),
  ].join("\n");
}
