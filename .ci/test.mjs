// Runs the compiled tests. `npm test` leaves out the long ones; `npm test -- kernel` runs every file whose path contains
// "kernel"; `--long` runs the long ones only, `--all` all of them; `--without kernel` leaves files out. Prints the 20 slowest files before the summary.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { run } from "node:test";
import { spec as Spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const TESTS = ".build/test";
const BATCHES = `.build/batches/${process.pid}`; // another run may have its own
/** Rounds of kills, floods and random input, whole installations, and files that say `// long: <why>`. */
const LONG = /^(?:fault|fuzz|e2e)\//;
/** The comments of the source: the compiler drops some. */
const comments = (name) => readFileSync(join("test", name.replace(/\.js$/, ".ts")), "utf8").split("\nimport ", 1)[0];
const isLong = (name) => LONG.test(name) || comments(name).includes("// long: ");
/** Files that share a process. With more of them a crash is harder to locate. */
const BATCH_SIZE = { pure: 30, gateway: 8 };
const SLOWEST = 20;
const TIMEOUT_MS = 1_200_000;

const given = process.argv.slice(2);
const without = given.includes("--without") ? given[given.indexOf("--without") + 1] : undefined;
const words = given.filter((word) => word !== without);
const filters = words.filter((word) => !word.startsWith("--"));
const isWanted = (name) => {
  if (without !== undefined && join(TESTS, name).includes(without)) return false;
  if (filters.length > 0) return filters.some((filter) => join(TESTS, name).includes(filter));
  return words.includes("--all") || isLong(name) === words.includes("--long");
};
const files = readdirSync(TESTS, { recursive: true })
  .filter((name) => name.endsWith(".test.js") && isWanted(name))
  .map((name) => resolve(TESTS, String(name)))
  .sort();
if (files.length === 0) {
  process.stderr.write(`no test file matches ${filters.join(", ")}\n`);
  process.exit(1);
}

/**
 * Programs, threads and changes of the process itself: a test module with any of these has a process of its own, as has a file
 * with the comment `// own process: <why>`.
 */
const APART =
  /child_process|worker_threads|node:inspector|process\.(?:chdir|on|once|emit|exit|kill)\b|process\.env(?:\.\w+|\[[^\]]*\]) = |delete process\.env|(?:globalThis|process\.std\w+)\.\w+ = |\bmock\.|^(?:before|after)(?:Each)?\(/m;
/** Gateways within the process of the test. */
const GATEWAY = /@svc\/host"|testGateway/;

const texts = new Map();
/** The text of a test file and of the test modules that it imports. */
function textsOf(file, seen = new Set()) {
  if (seen.has(file) || !existsSync(file)) return [];
  seen.add(file);
  if (!texts.has(file)) texts.set(file, readFileSync(file, "utf8"));
  const text = texts.get(file);
  const imports = [...text.matchAll(/^(?:im|ex)port .*from "(\.[^"]+)";$/gm)].map(([, path]) =>
    resolve(dirname(file), path),
  );
  return [text, ...imports.filter((path) => path.startsWith(resolve(TESTS))).flatMap((path) => textsOf(path, seen))];
}

const kindOf = (all) =>
  all.some((text) => APART.test(text)) ? "apart" : all.some((text) => GATEWAY.test(text)) ? "gateway" : "pure";
/** Long files differ much in time, so each has a process of its own. */
const onlyLong = words.includes("--long");
const isApart = (file) =>
  files.length === 1 || onlyLong || comments(file.slice(resolve(TESTS).length + 1)).includes("// own process: ");
const kinds = new Map(files.map((file) => [file, isApart(file) ? "apart" : kindOf(textsOf(file))]));

/** Files that import up to `size` files of a kind each. */
function batches(kind, size) {
  const all = files.filter((file) => kinds.get(file) === kind);
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => {
    const batch = resolve(BATCHES, `${kind}-${at}.js`);
    const part = all.slice(at * size, (at + 1) * size);
    writeFileSync(batch, part.map((file) => `import ${JSON.stringify(file)};\n`).join(""));
    return batch;
  });
}

mkdirSync(BATCHES, { recursive: true });
const apart = files.filter((file) => kinds.get(file) === "apart");

process.on("exit", () => rmSync(BATCHES, { recursive: true, force: true }));
process.env.SVC_SKIP_MODEL_DISCOVERY = "1"; // a model server of the developer's machine is no part of a test
process.env.SVC_WATCHDOG = "off"; // a test that blocks the event loop is no news
const events = run({
  files: [...apart, ...batches("gateway", BATCH_SIZE.gateway), ...batches("pure", BATCH_SIZE.pure)],
  concurrency: availableParallelism() + 1, // some tests wait more than they compute
  timeout: TIMEOUT_MS,
});
events.on("test:fail", ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1;
});

/** Puts the slowest files before the summary of the runner, whose lines stay the last. */
async function* withSlowest(source) {
  const times = new Map();
  let isSummary = false;
  for await (const event of source) {
    const { type, data } = event;
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.file)
      times.set(data.file, (times.get(data.file) ?? 0) + data.details.duration_ms);
    if (type === "test:diagnostic" && data.nesting === 0 && /^tests \d/.test(data.message) && !isSummary) {
      isSummary = true;
      const slowest = [...times].sort(([, one], [, other]) => other - one).slice(0, SLOWEST);
      for (const [file, ms] of slowest)
        yield {
          type,
          data: { nesting: 0, message: `${(ms / 1000).toFixed(1)} s ${file.slice(resolve(TESTS).length + 1)}` },
        };
    }
    yield event;
  }
}

events.compose(withSlowest).compose(new Spec()).pipe(process.stdout);
