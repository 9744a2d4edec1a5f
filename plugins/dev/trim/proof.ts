/**
 * Verifies that the written files can be imported in place, so that a missing file or package is found now and not at
 * the first start.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { ChosenPlugin } from "./own-files.ts";
import { PackageProblem } from "./package-tree.ts";

/** Imports each given file and reports the first failure. */
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
 * Imports the host, the command line and plugins in a separate process without this process's environment. Runs no
 * `setup`. TypeScript is compiled when loaded and not verified here.
 * @throws PackageProblem with the file and the error
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
    const next = "build or install the package of this file, then try again";
    throw new PackageProblem(`the written files cannot be imported: ${what}`, next, { cause: error });
  }
}
