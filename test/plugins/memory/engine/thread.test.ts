// long: runs threads
/** The index thread: terminated during its work, with a damaged file, and idle. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { createFakeClock } from "@svc/sdk/testing";
import type { ThreadData } from "../../../../plugins/memory/engine/protocol.ts";
import { createThread } from "../../../../plugins/memory/engine/thread.ts";
import { never, query, scene } from "../scene.ts";

const WORKER = new URL("../../../../plugins/memory/worker.js", import.meta.url);
const startThread = (data: ThreadData) => new Worker(WORKER, { workerData: data, execArgv: [] });

async function threadScene(t: TestContext, count: number) {
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`memory/${index}.md`, `# Note ${index}\n${"word ".repeat(500)} fox`]),
  );
  const { memory, file } = await scene(t, files);
  const workers: Worker[] = [];
  const clock = createFakeClock();
  const logged: string[] = [];
  const log = (_fields: object, message: string) => void logged.push(message);
  const thread = createThread({
    file: () => file,
    clock,
    log: { warn: log, error: log },
    startThread(data: ThreadData) {
      const worker = startThread(data);
      workers.push(worker);
      return worker;
    },
  });
  t.after(() => thread.close());
  const search = (signal = never) => thread.ask("search", { memory, query: query("fox", { maxResults: 50 }) }, signal);
  return { thread, memory, file, workers, clock, logged, search };
}

describe("the index thread", () => {
  it("starts with the first request, and ends after a time without requests", async (t) => {
    const { thread, search, workers, clock } = await threadScene(t, 3);
    assert.equal(thread.isRunning, false);
    assert.equal((await search()).hits.length, 3);
    await clock.advance(119_000);
    await search();
    await clock.advance(119_000);
    assert.deepEqual([thread.isRunning, workers.length], [true, 1]);
    const exit = once(workers[0] ?? assert.fail(), "exit");
    await clock.advance(2_000);
    assert.equal(thread.isRunning, false);
    await exit;
    assert.deepEqual([(await search()).hits.length, workers.length], [3, 2]);
    await thread.close();
    await thread.close();
    await assert.rejects(search(), { code: "UNAVAILABLE" });
  });

  it("does not open the file before the former one has closed it", async (t) => {
    const { search, workers, clock } = await threadScene(t, 3);
    await search();
    let isClosed = false;
    workers[0]?.once("exit", () => (isClosed = true));
    await clock.advance(121_000);
    const searching = search();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    assert.equal(workers.length === 1 || isClosed, true);
    assert.deepEqual([(await searching).hits.length, workers.length, isClosed], [3, 2, true]);
  });

  it("terminated during its work leaves an index that the next one can use", async (t) => {
    const { thread, memory, workers, logged, search } = await threadScene(t, 200);
    const syncing = thread.ask("sync", { memory, force: false });
    const isCut = assert.rejects(syncing, { code: "UNAVAILABLE", message: /try again/ });
    for (
      let seen = 0;
      seen < 20;
      seen = (await thread.ask("figures", { memory }).catch(() => undefined))?.files ?? seen
    );
    await workers[0]?.terminate();
    await isCut;
    assert.equal(logged.length, 1);
    const { changed, files } = await thread.ask("sync", { memory, force: false });
    assert.equal(files, 200);
    assert.ok(changed > 0 && changed <= 180, `${changed} were still to be read`);
    assert.deepEqual([(await search()).hits.length, logged.length], [50, 1]);
  });

  it("killed with its process leaves such an index, too", async (t) => {
    const { thread, memory, file } = await threadScene(t, 200);
    const engine = fileURLToPath(new URL("../../../../plugins/memory/engine/engine.js", import.meta.url));
    const script = `
      import { createEngine } from ${JSON.stringify(engine)};
      const engine = createEngine({ file: ${JSON.stringify(file)}, note() {}, embed() {} });
      const memory = ${JSON.stringify(memory)};
      const timer = setInterval(async () => {
        if (((await engine.figures(memory))?.files ?? 0) > 20) process.kill(process.pid, "SIGKILL");
      }, 1);
      await engine.sync(memory, false, new AbortController().signal);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
    const [, signal] = await once(child, "exit");
    assert.equal(signal, "SIGKILL");
    const { changed, files } = await thread.ask("sync", { memory, force: false });
    assert.equal(files, 200);
    assert.ok(changed > 0 && changed <= 180, `${changed} were still to be read`);
  });

  it("is replaced by one that recreates a damaged file, unnoticed by callers", async (t) => {
    const { file, workers, logged, search } = await threadScene(t, 3);
    await writeFile(file, "no database ".repeat(1_000));
    const found = await Promise.all([search(), search(), search()]);
    assert.deepEqual(
      found.map(({ hits }) => hits.length),
      [3, 3, 3],
    );
    assert.equal(workers.length, 2);
    assert.deepEqual(logged, ["the memory index cannot be used; it is rebuilt"]);
  });

  it("stops a search with its run", async (t) => {
    const { search } = await threadScene(t, 50);
    const stopping = new AbortController();
    const searching = search(stopping.signal);
    stopping.abort();
    await assert.rejects(searching, { name: "AbortError" });
    assert.equal((await search()).hits.length, 50);
  });

  it("reports why the index cannot be opened", async (t) => {
    const { memory } = await scene(t, { "MEMORY.md": "fox" });
    const file = join(memory.workspace, "MEMORY.md", "index.sqlite");
    const log = { warn: () => {}, error: () => {} };
    const thread = createThread({ file: () => file, clock: createFakeClock(), log, startThread });
    t.after(() => thread.close());
    const asked = thread.ask("search", { memory, query: query("fox") });
    await assert.rejects(asked, { code: "UNAVAILABLE", message: /cannot be opened: .+; check that/ });
  });
});
