/** Whether what was written can be imported where it lies: a missing file or package is found now and not at the first start. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { ChosenPlugin } from "./own-files.ts";
import { PackageProblem } from "./package-tree.ts";

/** Imports each file it is given, and says which one cannot be. */
const IMPORT_ALL = `
for (const file of process.argv.slice(1)) {
  try { await import(file); } catch (error) {
    process.stdout.write(file + ": " + (error?.message ?? error));
    process.exit(1);
  }
}
process.exit(0);`;

const TIMEOUT_MS = 60_000;

/**
 * Imports the host, the command line and plugins in a process of their own, without this one's environment. Runs no `setup`.
 * What is TypeScript is compiled when it is loaded, and not proven here.
 * @throws PackageProblem with the file and what is wrong
 */
export async function proveImports(out: string, plugins: readonly ChosenPlugin[]): Promise<void> {
  const modules = join(out, "node_modules");
  const files = plugins.flatMap(({ package: { name }, entries }) => entries.map((file) => join(modules, name, file)));
  const compiled = ["host", "cli"]
    .map((name) => join(modules, `@svc/${name}/dist/index.js`))
    .concat(files)
    .filter((file) => /\.[cm]?js$/.test(file));
  const urls = compiled.map((file) => pathToFileURL(file).href);
  try {
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", IMPORT_ALL, ...urls], {
      cwd: out,
      env: process.platform === "win32" ? process.env : {},
      timeout: TIMEOUT_MS,
    });
  } catch (error) {
    const { stdout = "", message } = error as { stdout?: string; message: string };
    const what = (stdout || message).replace(out, "");
    const next = "build or install the package that this file is of, then try again";
    throw new PackageProblem(`what was written cannot be imported: ${what}`, next, { cause: error });
  }
}
