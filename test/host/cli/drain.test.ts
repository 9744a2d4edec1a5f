/** `svc gateway run --drain`: a stop in a real process, while a plugin has work in flight. */
import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { drainOf, drainText } from "../../../host/cli/drain.ts";
import { home } from "./svc.ts";

/** A gateway whose plugin `work` is busy until `done` is called. */
function busyHome(t: TestContext) {
  const here = home(t, { plugins: { use: ["./work.ts"] } });
  const mark = join(dirname(here.configPath), "busy");
  writeFileSync(mark, "");
  writeFileSync(
    join(dirname(here.configPath), "work.ts"),
    `import { existsSync } from "node:fs";
import { definePlugin } from "@svc/sdk";
export default definePlugin({ id: "work", api: "^1.0.0", setup: (gateway) => gateway.busy(() => existsSync(${JSON.stringify(mark)})) });
`,
  );
  return { ...here, done: () => rmSync(mark), isBusy: () => existsSync(mark) };
}

describe("a stop of svc gateway run", { timeout: 120_000 }, () => {
  for (const [signal, atOnce] of [
    ["SIGINT", "press Ctrl-C again to stop at once"],
    ["SIGTERM", "a second signal stops the gateway at once"],
  ] as const)
    it(`waits for work in flight on ${signal}, and reports it in one line`, async (t) => {
      const { run, done } = busyHome(t);
      const { kill, says, ended } = await run();
      kill(signal);
      await says(/waiting for/);
      done();
      const { code, stderr } = await ended;
      assert.deepEqual([code, stderr], [0, `waiting for work in flight (work), up to 10m; ${atOnce}\n`]);
    });

  it("ends at once on a second signal", async (t) => {
    const { run, isBusy } = busyHome(t);
    const { kill, says, stop } = await run(["--drain", "1h"]);
    kill("SIGINT");
    await says(/up to 60m/);
    assert.deepEqual([(await stop("SIGINT")).code, isBusy()], [130, true]);
  });

  it("waits for nothing with --drain 0", async (t) => {
    const { run, isBusy } = busyHome(t);
    const { stop } = await run(["--drain", "0"]);
    assert.deepEqual([await stop().then(({ code, stderr }) => [code, stderr]), isBusy()], [[0, ""], true]);
  });

  it("makes svc gateway stop wait, which prints the reason and how to skip the wait", async (t) => {
    const { run, svc, done } = busyHome(t);
    const { pid, says } = await run();
    const stopped = svc(["gateway", "stop"]);
    await says(/waiting for/);
    done();
    const { code, stderr } = await stopped;
    const line = `waiting for work in flight (work), up to 10m; to stop it at once: kill ${pid}\n`;
    assert.deepEqual([code, stderr], [0, line]);
  });

  it("refuses an invalid duration, with an example", async (t) => {
    const { code, stderr } = await home(t).svc(["gateway", "run", "--drain", "soon"]);
    assert.equal(code, 2);
    assert.match(stderr, /^--drain soon: must be a duration .*\nNext: svc gateway run --drain 10m\n$/);
  });
});

describe("durations of --drain", () => {
  for (const [text, ms, shown] of [
    ["0", 0, "0s"],
    ["90s", 90_000, "90s"],
    ["10m", 600_000, "10m"],
    ["1h", 3_600_000, "60m"],
  ] as const)
    it(text, () => assert.deepEqual([drainOf(text), drainText(ms)], [ms, shown]));
  for (const text of ["", "10", "m", "-1m", "1.5h", "10 m", "1m30s"])
    it(`invalid: ${text || "empty"}`, () => assert.equal(drainOf(text), undefined));
});
