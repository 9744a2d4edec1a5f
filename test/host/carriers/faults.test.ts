// long: kills threads and processes
/**
 * Twelve faults of a plugin, by placement: the gateway responds, other plugins serve, the failing plugin is named, restarts, and is
 * quarantined when it fails too often.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineContract, Type } from "@svc/sdk";
import { isolationScene, type SceneOptions, until, type Written } from "./scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const Any = Type.Unknown();
const contract = defineContract("other", {
  say: { summary: "-", scope: "operator.read", params: Any, result: Any },
});
const other = pluginOf("other", (gateway) => gateway.serve(contract, { say: () => "fine" }));

async function scene(t: Parameters<typeof isolationScene>[0], written: Written, options: SceneOptions) {
  const running = await isolationScene(t, written, { ...options, plugins: [other] });
  let closed = 0;
  running.client.onClose(() => closed++);
  return {
    ...running,
    /** Old and new connections, and methods of other plugins, still work. */
    async othersAreFine() {
      assert.equal(await running.client.request("other.say", {}), "fine");
      const fresh = await running.connect();
      assert.equal(await fresh.request("other.say", {}), "fine");
      await fresh.close();
      assert.equal(closed, 0);
    },
  };
}

const EVERYWHERE = ["host", "worker", "process"] as const;
const OWN_PLACE = ["worker", "process"] as const;
const counter = `serve("ok", () => "ok");`;

for (const run of EVERYWHERE)
  describe(`in placement ${run}`, { concurrency: 2 }, () => {
    it("throws at import: failed, with the reason", async (t) => {
      const { report, othersAreFine } = await scene(t, { before: `throw new Error("boom");`, setup: "" }, { run });
      assert.deepEqual([report()?.state, report()?.reason], ["failed", "import: boom"]);
      await othersAreFine();
    });

    it("throws in the middle of setup: none of its declarations take effect", async (t) => {
      const { ask, report, othersAreFine } = await scene(t, { setup: `${counter} throw new Error("boom");` }, { run });
      assert.deepEqual([report()?.state, report()?.reason], ["failed", "setup: boom"]);
      await assert.rejects(ask("ok"), /provided by plugin guest, which is not enabled \(failed: setup: boom\)/);
      await othersAreFine();
    });

    it("throws in a handler, never settles, or settles twice: only that call is affected", async (t) => {
      const setup = `${counter} serve("bug", () => { throw new TypeError("boom"); });
        serve("never", () => new Promise(() => {}));
        serve("twice", ({ accept }) => new Promise((resolve) => { resolve("one"); resolve("two"); setTimeout(() => accept("three"), 5); }));
        serve("late", ({ accept }) => new Promise((resolve) => setTimeout(() => { resolve("one"); setTimeout(() => accept("two"), 5); }, 50)));`;
      const { client, ask, report, othersAreFine } = await scene(t, { setup }, { run });
      for (let turn = 0; turn < 6; turn++) await assert.rejects(ask("bug"), /^GatewayError: internal error/);
      assert.equal(await ask("ok"), "ok");
      assert.deepEqual([report()?.state, report()?.errors], ["active", 6]);
      await assert.rejects(client.request("guest.never", {}, { timeoutMs: 100 }), /no answer|within|time/);
      assert.equal(await ask("twice"), "one");
      await new Promise((resolve) => setTimeout(resolve, 30));
      assert.equal(await ask("twice"), "one");
      const late = ask("late");
      await new Promise((resolve) => setTimeout(resolve, 20));
      for (const until = performance.now() + 200; performance.now() < until;); // both messages arrive at once
      assert.equal(await late, "one");
      await othersAreFine();
    });

    it("throws in a hook: the observed call succeeds; too many throws lead to quarantine", async (t) => {
      const { client, state, othersAreFine } = await scene(
        t,
        { setup: `gateway.hooks.rpcAfter.tap(() => { throw new Error("boom"); });` },
        { run },
      );
      for (let turn = 0; turn < 5; turn++) await client.request("other.say", {});
      await until(() => state() === "quarantined", "the quarantine");
      await othersAreFine();
    });

    it("throws in a timer, and rejects later: attributed", async (t) => {
      // A stray rejection in the gateway's own process is attributed by `svc gateway run`; see stray-errors.test.ts.
      const stray = run === "host" ? "" : `gateway.start(() => void Promise.reject(new Error("later")));`;
      const setup = `${counter} gateway.after(5, () => { throw new Error("timer"); }); ${stray}`;
      const { report, ask, othersAreFine } = await scene(t, { setup }, { run });
      await until(() => (report()?.errors ?? 0) >= (run === "host" ? 1 : 2), "the charges");
      assert.equal(await ask("ok"), "ok");
      await othersAreFine();
    });
  });

for (const run of OWN_PLACE)
  describe(`in placement ${run}, where the fault would otherwise end the gateway`, { concurrency: 4 }, () => {
    const deadly: [what: string, code: string, reason: RegExp, memoryMb?: number][] = [
      ["spins forever", "for (;;);", /blocked its thread for more than 5 s/],
      [
        "sends an invalid message",
        `const { parentPort } = await import("node:worker_threads"); parentPort ? parentPort.postMessage(null) : process.send(null); await new Promise(() => {});`,
        /it sent an invalid message/,
      ],
      ["exits the process", "process.exit(3);", /ended its (thread|process) \(exit code 3\)/],
      [
        "exhausts its memory",
        "const all = []; for (;;) all.push(new Array(1_000).fill(String(Math.random())));",
        /more than 32 MiB of memory/,
        32,
      ],
    ];
    it("returns or sends more than fits into a message: that call fails, and connections stay open", async (t) => {
      const { ask, report, othersAreFine } = await scene(
        t,
        {
          setup: `${counter} const note = gateway.event(defineEvent({ name: "guest.note", summary: "-", payload: Any }));
            serve("answer", () => "x".repeat(40_000_000));
            serve("send", () => { note("x".repeat(30_000_000)); return "sent"; });`,
        },
        { run },
      );
      await assert.rejects(ask("answer"), /^GatewayError: internal error/);
      const [before = 0] = [report()?.errors];
      assert.equal(await ask("send"), "sent");
      await until(() => report()?.errors === before + 1, "the charge");
      assert.match(report()?.blame?.message ?? "", /event guest\.note is too large/);
      await othersAreFine();
    });

    for (const [what, code, reason, memoryMb] of deadly)
      it(`${what}: only this plugin ends, is named, and restarts`, async (t) => {
        const { client, ask, report, othersAreFine } = await scene(
          t,
          { setup: `${counter} serve("die", async () => { ${code} });` },
          { run, ...(memoryMb === undefined ? {} : { memoryMb }) },
        );
        assert.equal(await ask("ok"), "ok");
        const dying = client.request("guest.die", {}, { timeoutMs: 30_000 }).then(
          () => "answered",
          (error: { code: string; retryAfterMs?: number }) => `${error.code} ${error.retryAfterMs}`,
        );
        await othersAreFine();
        assert.equal(await dying, "UNAVAILABLE 1000");
        await until(() => report()?.state !== "active", "the end");
        assert.match(report()?.reason ?? "", reason);
        await othersAreFine();
        await until(() => report()?.state === "active", "the return");
        assert.equal(await ask("ok"), "ok");
        assert.deepEqual([report()?.generation, report()?.errors], [2, 1]);
      });

    it("spins for 3 seconds: only its own callers wait", async (t) => {
      const { ask, report, othersAreFine } = await scene(
        t,
        { setup: `serve("spin", () => { const end = Date.now() + 3_000; while (Date.now() < end); return "done"; });` },
        { run },
      );
      const spinning = ask("spin");
      await othersAreFine();
      assert.equal(await spinning, "done");
      assert.deepEqual([report()?.state, report()?.errors, report()?.generation], ["active", 0, 1]);
    });

    it("exits repeatedly: it is retried after a delay, which a reload resets", async (t) => {
      const { report, client, othersAreFine } = await scene(
        t,
        { setup: `serve("die", () => process.exit(1));` },
        { run },
      );
      const waits: number[] = [];
      for (let turn = 0; turn < 3; turn++) {
        await assert.rejects(client.request("guest.die", {}), { code: "UNAVAILABLE" });
        await until(() => report()?.retryAt !== undefined, "the end");
        waits.push(Math.round(((report()?.retryAt ?? 0) - (report()?.blame?.at ?? 0)) / 1_000));
        await client.request("plugins.reload", { id: "guest" }); // resets its failures
        await until(() => report()?.state === "active", "the return");
      }
      assert.deepEqual(waits, [1, 1, 1]);
      await othersAreFine();
    });
  });
