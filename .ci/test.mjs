// Runs the compiled tests. `npm test` leaves out the long ones; `npm test -- kernel` runs every file whose path contains
// "kernel"; `--long` runs the long ones only, `--all` all of them. Prints the 20 slowest files before the summary.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { run } from "node:test";
import { spec as Spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const TESTS = ".build/test";
const BATCHES = ".build/batches";
/** Rounds of kills, floods and random input, and whole installations. */
const LONG = /^(?:fault|fuzz|e2e)\/|\.long\.test\.js$/;
/** Files that share a process; more would only make a failure harder to place. */
const BATCH_SIZE = 30;
const SLOWEST = 20;
const TIMEOUT_MS = 600_000;

const words = process.argv.slice(2);
const filters = words.filter((word) => !word.startsWith("--"));
const isWanted = (name) => {
  if (filters.length > 0) return filters.some((filter) => join(TESTS, name).includes(filter));
  return words.includes("--all") || LONG.test(name) === words.includes("--long");
};
const files = readdirSync(TESTS, { recursive: true })
  .filter((name) => name.endsWith(".test.js") && isWanted(name))
  .sort()
  .map((name) => resolve(TESTS, name));
if (files.length === 0) {
  process.stderr.write(`no test file matches ${filters.join(", ")}\n`);
  process.exit(1);
}

/** Programs, threads, gateways, the environment, global state: a test with any of these has a process of its own. */
const APART =
  /child_process|worker_threads|node:inspector|@svc\/host"|testGateway|process\.(?:env|chdir|on|once|emit|exit|kill|std)|globalThis|\bmock\.|^(?:before|after)(?:Each)?\(/m;

const texts = new Map();
/** Whether neither the file nor a test module that it imports needs a process of its own. */
function isPure(file, seen = new Set()) {
  if (seen.has(file)) return true;
  seen.add(file);
  if (!texts.has(file)) texts.set(file, readFileSync(file, "utf8"));
  const text = texts.get(file);
  if (APART.test(text)) return false;
  const imports = [...text.matchAll(/^(?:im|ex)port .*from "(\.[^"]+)";$/gm)].map(([, path]) =>
    resolve(dirname(file), path),
  );
  return imports
    .filter((path) => path.startsWith(resolve(TESTS)) && existsSync(path))
    .every((path) => isPure(path, seen));
}

rmSync(BATCHES, { recursive: true, force: true });
mkdirSync(BATCHES, { recursive: true });
const pure = files.length > 1 ? files.filter((file) => isPure(file)) : [];
const batches = [];
for (let at = 0; at < pure.length; at += BATCH_SIZE) {
  const batch = resolve(BATCHES, `${at / BATCH_SIZE}.js`);
  writeFileSync(
    batch,
    pure
      .slice(at, at + BATCH_SIZE)
      .map((file) => `import ${JSON.stringify(file)};\n`)
      .join(""),
  );
  batches.push(batch);
}
const shared = new Set(pure);

process.env.SVC_WATCHDOG = "off"; // a test that blocks the event loop is no news
const events = run({
  files: [...files.filter((file) => !shared.has(file)), ...batches],
  concurrency: 2,
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
