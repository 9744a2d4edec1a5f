// Builds everything: types are checked and each file is compiled to .build/ (what tests import), then each
// package is bundled into its dist/ (what runs): few files to load, typebox inside the SDK once. The packages that others
// write code against get their declarations beside it.
import { build, transform } from "esbuild";
import { execFile, execFileSync } from "node:child_process";
import { isBuiltin } from "node:module";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gatewayRuns, isBuilt, keepStamp, sourcesNow } from "./sources.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
const TSC = "node_modules/typescript/bin/tsc";
/** The plugin with a page. */
const PANEL = "plugins/control-panel";
/** The plugin with a script for pages of others. */
const WIDGET = "plugins/webchat";

// `--if-changed` does nothing when the last build has the same sources.
if (process.argv[2] === "--if-changed" && isBuilt()) process.exit(0);
// `node .ci/build.mjs sdk plugins/chat` bundles only those, without checking types.
const only = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const wanted = (dir) => only.length === 0 || only.includes(dir);

const sources = sourcesNow(); // what is saved while it builds is for the next one
if (await gatewayRuns())
  process.stderr.write("build: a gateway runs here; if it is of this checkout, it needs a restart afterwards\n");

if (only.length === 0) {
  rmSync(".build", { recursive: true, force: true });
  try {
    const pretty = ["--pretty", process.stdout.isTTY ? "true" : "false"];
    execFileSync(process.execPath, [TSC, ...pretty], { stdio: "inherit" });
    for (const page of [join(PANEL, "ui"), join(WIDGET, "widget")])
      execFileSync(process.execPath, [TSC, ...pretty, "-p", page], { stdio: "inherit" });
  } catch {
    process.stderr.write("build: types do not check; nothing was bundled\n");
    process.exit(1);
  }
}

/** Packages with declarations. */
const TYPED = ["sdk/kit", "sdk", "host"];
/** Meanwhile on the other core. */
const declared =
  only.length === 0 &&
  promisify(execFile)(process.execPath, [TSC, "-p", ".ci/tsconfig.types.json"]).catch(({ stdout }) => {
    process.stderr.write(`${stdout}build: the declarations could not be written\n`);
    process.exit(1);
  });

/** Beside `dist` until everything is bundled: a gateway or command that runs meanwhile still finds its files. */
const STAGED = ".dist";
const bundled = [];

/** Add-ons that a library uses where somebody has installed them. */
const OPTIONAL = ["bufferutil", "utf-8-validate"];

/** Bundles `entries` (name -> source) into `<dir>/dist`. Packages stay imports unless named in `inline`, or used by one that is. */
async function bundle(dir, entries, inline = []) {
  if (!wanted(dir)) return;
  rmSync(join(dir, STAGED), { recursive: true, force: true });
  const external = {
    name: "external",
    setup({ onResolve }) {
      onResolve({ filter: /^[^.]/ }, ({ path, kind, importer }) => {
        if (kind === "entry-point") return undefined;
        const name = path.startsWith("@") ? path.split("/").slice(0, 2).join("/") : path.split("/")[0];
        const ours = !isBuiltin(path) && !path.startsWith("@svc/") && !OPTIONAL.includes(name);
        const inside = ours && (inline.includes(name) || importer.includes("node_modules"));
        return inside ? undefined : { path, external: true };
      });
    },
  };
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(dir, file)])),
    outdir: join(dir, STAGED),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    legalComments: "none",
    plugins: [external],
    // CommonJS libraries inside an ES module still ask for require.
    banner:
      inline.length > 0
        ? {
            js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
          }
        : {},
    logLevel: "warning",
  });
  bundled.push(dir);
}

/** One bundle for each subpath that a package exports, from `<name>.ts` or `<name>/index.ts`. */
function exported(dir) {
  const { exports } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const names = Object.values(exports).flatMap((entry) => (entry.default ? [entry.default.slice(7, -3)] : []));
  return Object.fromEntries(
    names.map((name) => [name, existsSync(join(dir, `${name}.ts`)) ? `${name}.ts` : `${name}/index.ts`]),
  );
}

await bundle("sdk/kit", exported("sdk/kit")); // before the SDK, whose declarations lie around those of the kit
await bundle("sdk", exported("sdk"), ["chokidar", "typebox", "ws"]);
const hostEntries = {
  ...exported("host"),
  "isolation-guest": "carriers/isolation-guest.ts",
  declare: "carriers/declare-program.ts",
};
await bundle("host", hostEntries, [
  "koa",
  "@koa/router",
  "ws",
  "tapable",
  "json5",
  "semver",
  "raw-body",
  "pino",
  "@croct/json5-parser",
  "ipaddr.js",
  "@peculiar/asn1-schema",
  "@peculiar/asn1-x509",
]);
const cliEntries = { index: "index.ts", main: "main.ts", "code-facts-process": "plugin-facts/code-facts-process.ts" };
await bundle("host/cli", cliEntries, ["commander"]);
const plugins = [];
/** Files that run in a thread or process of their own, beside the ones every plugin may have. */
const STARTED = {
  dev: { "module-hooks": "run/module-hooks.ts", "check-process": "check/check-process.ts" },
  "storage-sqlite": { "usage-worker": "usage-worker.ts" },
  media: { worker: "documents/worker.ts" },
  plugins: { "install-probe": "install/install-probe.ts", "archive-worker": "install/archive-worker.ts" },
  webhooks: { "transform-worker": "transforms/transform-worker.ts" },
};
for (const name of readdirSync("plugins")) {
  const dir = join("plugins", name);
  const { svc } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  if (!svc) continue;
  const entries = { ...STARTED[name] };
  for (const entry of ["plugin", "cli", "worker", "security"])
    if (existsSync(join(dir, `${entry}.ts`))) entries[entry] = `${entry}.ts`;
  await bundle(dir, entries);
  if (wanted(dir)) plugins.push(dir);
}
await bundle("plugins/nodes/node-host", { index: "index.ts" });
if (wanted("plugins/dev"))
  cpSync("plugins/dev/new/templates", join("plugins/dev", STAGED, "templates"), { recursive: true });
if (wanted(PANEL)) await buildPanel();
if (wanted(WIDGET))
  await build({
    entryPoints: [join(WIDGET, "widget/index.ts")],
    outfile: join(WIDGET, STAGED, "widget.js"),
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    plugins: [{ name: "css-text", setup: ({ onLoad }) => onLoad({ filter: /\.css$/ }, cssText) }],
    legalComments: "none",
    logLevel: "warning",
  });
await declared;
for (const dir of bundled) {
  const types = only.length === 0 ? join(".build/types", dir) : join(dir, "dist/types");
  if (TYPED.includes(dir) && existsSync(types)) renameSync(types, join(dir, STAGED, "types"));
  rmSync(join(dir, "dist"), { recursive: true, force: true });
  renameSync(join(dir, STAGED), join(dir, "dist"));
}
// What a plugin declares, beside its entry: the gateway knows it without its code, as long as nobody uses it.
if (plugins.length > 0) execFileSync(process.execPath, ["host/dist/declare.js", ...plugins], { stdio: "inherit" });
if (only.length === 0) {
  writeReference();
  keepStamp(sources);
}

/** A style sheet as a short text, for a script. */
async function cssText({ path }) {
  const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
  return { contents: code, loader: "text" };
}

/** The page of the control panel, and beside each text file its brotli form, which is sent to browsers. */
async function buildPanel() {
  const { default: config } = await import("../plugins/control-panel/ui/vite.config.mjs");
  const [{ build: buildPage }, { brotliCompressSync, constants }] = await Promise.all([
    import("vite"),
    import("node:zlib"),
  ]);
  await buildPage(config);
  for (const name of readdirSync(config.build.outDir, { recursive: true })) {
    if (!/\.(html|js|css|svg|json|webmanifest)$/.test(name)) continue;
    const file = join(config.build.outDir, name);
    const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file), options));
  }
}

/** `sdk/reference`, from the contracts and schemas that were just built, without the configuration of this machine. */
function writeReference() {
  const state = mkdtempSync(join(tmpdir(), "svc-reference-"));
  try {
    execFileSync(process.execPath, ["host/cli/svc.js", "docs", "--out", "sdk/reference"], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, SVC_STATE_DIR: state, SVC_CONFIG_PATH: join(state, "svc.json") },
    });
  } finally {
    rmSync(state, { recursive: true });
  }
}
