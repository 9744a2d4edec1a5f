/** The wizard without a gateway: deadlines, abandoned setups, conflicts and restarts, by a clock of the test. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import {
  type Call,
  type Contribution,
  type ExtensionView,
  GatewayError,
  invalidRequest,
  type Principal,
} from "@svc/sdk";
import type { ConfigChange, ConfigStore, ReloadKind } from "@svc/sdk/config";
import { createFakeClock } from "@svc/sdk/testing";
import type { SetupPart } from "@svc/sdk/wizard";
import { commitOf } from "../../../plugins/wizard/commit.ts";
import { createWizard } from "../../../plugins/wizard/wizard.ts";
import { join } from "node:path";
import { byPerson } from "../../../plugins/wizard/terminal/answers.ts";
import { directory, put } from "../../directory.ts";
import { asking, part } from "./scene.ts";

const QUESTION = { kind: "text", message: "Your name?" } as const;
const admin = { id: "token", role: "operator", scopes: ["operator.admin"], provenance: "token", epoch: 0 } as Principal;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

interface Given {
  /** Hashes of the file, one for each look at it; the last one stays. */
  readonly hashes?: readonly string[];
  write?(change: ConfigChange): ReloadKind | undefined;
  readonly possible?: boolean;
}

function scene(parts: Readonly<Record<string, SetupPart>>, { hashes = ["h1"], write, possible = true }: Given = {}) {
  const clock = createFakeClock();
  const listed: Contribution<SetupPart>[] = Object.entries(parts).map(([id, value]) => ({
    id,
    plugin: "guide",
    value,
  }));
  const view = {
    list: () => listed,
    get: (id: string) => listed.find((one) => one.id === id),
    call: (one: Contribution<SetupPart>, work: (value: SetupPart) => unknown) => work(one.value),
  } as ExtensionView<SetupPart>;
  const changes: ConfigChange[] = [];
  const scheduled: string[] = [];
  const left = [...hashes];
  const hash = () => (left.length > 1 ? left.shift() : left[0]);
  const config = {
    snapshot: async () => ({ exists: true, hash: hash(), parsed: {} }),
    async write(change: ConfigChange) {
      changes.push(change);
      return { reload: write?.(change) };
    },
  } as unknown as ConfigStore; // the parts that are used
  const restarts = {
    possible,
    schedule({ reason }: { reason: string }) {
      scheduled.push(reason);
      return { delayMs: 0, coalesced: false, cooldownMsApplied: 0 };
    },
  };
  const { handlers, stop } = createWizard({
    parts: view,
    config,
    info: { version: "1.2.3" },
    restarts,
    clock,
    log: silent,
  });
  const call = <P>(params: P) => ({ params, principal: admin }) as Call<P>;
  return {
    clock,
    changes,
    scheduled,
    stop,
    start: async () => handlers.start(call({})),
    next: async (sessionId: string, stepId?: string, value?: unknown) =>
      handlers.next(call({ sessionId, ...(stepId === undefined ? {} : { answer: { stepId, value } }) })),
    status: async (sessionId: string) => handlers.status(call({ sessionId })),
    cancel: async (sessionId: string) => handlers.cancel(call({ sessionId })),
  };
}

describe("the wizard", () => {
  it("aborts a part that hangs for 5 minutes, and names it", async () => {
    let signal: AbortSignal | undefined;
    const hanging = part("Hanging", 1, {
      start(call) {
        ({ signal } = call);
        return new Promise(() => undefined);
      },
    });
    const { clock, start } = scene({ hanging });
    const started = start();
    await clock.advance(299_999);
    assert.equal(signal?.aborted, false);
    await clock.advance(1);
    const { step } = await started;
    assert.match(
      step?.message ?? "",
      /"hanging" of the plugin "guide" failed: the plugin "guide" did not respond within 5/,
    );
    assert.equal(signal?.aborted, true);
    assert.equal(clock.pending, 0);
  });

  it("replaces a setup that nobody has used for 30 minutes", async () => {
    const { clock, start, next } = scene({ a: asking("A", 1, QUESTION) });
    const first = await start();
    await clock.advance(1_799_999);
    await next(first.sessionId);
    await clock.advance(1_799_999);
    await assert.rejects(start(), { code: "UNAVAILABLE" });
    await clock.advance(1);
    const second = await start();
    assert.notEqual(second.sessionId, first.sessionId);
    await assert.rejects(next(first.sessionId), { code: "INVALID_REQUEST" });
  });

  it("forgets a setup once a response has reported its end", async () => {
    let crash: (reason: unknown) => void = () => {};
    const late = part("Late", 1, { start: () => new Promise((_, reject) => (crash = reject)) });
    const { start, status, next, clock } = scene({ late });
    const waiting = start();
    await clock.advance(0);
    crash(new GatewayError("UNAVAILABLE", "away"));
    const { sessionId, step } = await waiting;
    const ended = next(sessionId, step?.id, "end");
    assert.deepEqual((await ended).status, "error");
    await assert.rejects(status(sessionId), { code: "INVALID_REQUEST" });
  });

  it("ends a running setup when its plugin stops", async () => {
    const { start, status, stop } = scene({ a: asking("A", 1, QUESTION) });
    const { sessionId } = await start();
    stop();
    const { status: state, error } = await status(sessionId);
    assert.equal(state, "error");
    assert.match(error ?? "", /stopped or reloaded/);
  });

  it("writes again when another writer was first, and gives up after five conflicts", async () => {
    const set = part("Set", 1, { start: async () => ({ done: true, config: { a: 1 } }) });
    let conflicts = 1;
    const write = () => (conflicts-- > 0 ? invalidRequest("changed") : undefined);
    const once = scene({ set }, { hashes: ["h0", "h1", "h2"], write });
    assert.equal((await once.start()).status, "done");
    assert.deepEqual(
      once.changes.slice(0, 2).map(({ raw, baseHash, restartsItself }) => [raw, baseHash, restartsItself]),
      [
        ['{"a":1}', "h1", true],
        ['{"a":1}', "h2", true],
      ],
    );
    const always = scene(
      { set },
      { hashes: Array.from({ length: 30 }, (_, at) => `h${at}`), write: () => invalidRequest("changed") },
    );
    assert.match((await always.start()).step?.message ?? "", /changed/);
    assert.equal(always.changes.length, 5);
  });

  const needsRestart = part("Bind", 1, { start: async () => ({ done: true, config: { gateway: { bind: "lan" } } }) });
  const write = ({ raw }: ConfigChange) => (raw.includes("bind") ? ("restart" as const) : ("hot" as const));

  it("restarts the gateway once, after the setup, for keys that need it", async () => {
    const { start, next, scheduled, clock } = scene({ needsRestart, a: asking("A", 2, QUESTION) }, { write });
    const { sessionId, step } = await start();
    assert.deepEqual(scheduled, []);
    assert.equal((await next(sessionId, step?.id, "x")).status, "done");
    await clock.advance(0);
    assert.deepEqual(scheduled, ["wizard"]);
  });

  it("restarts it after a cancelled setup, too, but never a gateway that cannot restart", async () => {
    const cancelled = scene({ needsRestart, a: asking("A", 2, QUESTION) }, { write });
    const { sessionId } = await cancelled.start();
    await cancelled.cancel(sessionId);
    await cancelled.clock.advance(0);
    assert.deepEqual(cancelled.scheduled, ["wizard"]);
    const embedded = scene({ needsRestart }, { write, possible: false });
    await embedded.start();
    await embedded.clock.advance(0);
    assert.deepEqual(embedded.scheduled, []);
  });
});

describe("a person at the terminal", () => {
  const cases = [
    ["accepts the initial text with an empty line", "", "Bob"],
    ["clears the initial text with a space", " ", ""],
    ["replaces the initial text", " Ann ", "Ann"],
  ] as const;
  for (const [what, line, answer] of cases)
    it(what, async () => {
      const output = new PassThrough();
      const asked: string[] = [];
      const lines = { ask: async (prompt: string) => (asked.push(prompt), line), close: () => undefined };
      const answers = byPerson({ output } as never, lines, {}); // the used part
      assert.equal(await answers({ type: "text", message: "Your name? Empty: none.", initialValue: "Bob" }), answer);
      assert.deepEqual(asked, ["[Bob; a space: empty] > "]);
    });
});

describe("the commit of a checkout", () => {
  const SHA = "0123456789abcdef0123456789abcdef01234567";
  it("is read from the branch, a packed branch or a detached head; a package has none", async (t) => {
    const place = directory(t);
    const host = join(place, "host");
    assert.equal(await commitOf(host), undefined);
    assert.equal(await commitOf(undefined), undefined);
    put(join(place, ".git/HEAD"), "ref: refs/heads/main\n");
    assert.equal(await commitOf(host), undefined);
    put(join(place, ".git/packed-refs"), `# pack-refs\n${SHA} refs/heads/main\n`);
    assert.equal(await commitOf(host), SHA);
    const other = SHA.replaceAll("0", "f");
    put(join(place, ".git/refs/heads/main"), `${other}\n`);
    assert.equal(await commitOf(host), other);
    put(join(place, ".git/HEAD"), `${SHA}\n`);
    assert.equal(await commitOf(host), SHA);
    put(join(place, ".git/HEAD"), "nonsense\n");
    assert.equal(await commitOf(host), undefined);
  });
});
