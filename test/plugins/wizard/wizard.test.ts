/** `wizard.*` over a connection, with parts of a test. Spec: protocol/methods-wizard.md. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, invalidRequest, unavailable } from "@svc/sdk";
import { type SetupCall, type SetupStep, wizard } from "@svc/sdk/wizard";
import { until } from "../../until.ts";
import { asking, part, partsPlugin, setupAt, startWizard } from "./scene.ts";

const limited = { timeout: 120_000 };
const refused = (code: string, message: RegExp) => ({ name: "GatewayError", code, message });
const QUESTION = { kind: "text", message: "Your name?" } as const;

describe("wizard.*", limited, () => {
  it("asks the parts in order with a new id for each step, and ends with done", async (t) => {
    const parts = {
      z: asking("Second", 20, { kind: "confirm", message: "Sure?" }),
      a: asking("First", 20, { ...QUESTION, placeholder: "Ann", initial: "Bob" }),
      early: part("Silent", 10, { start: async () => ({ done: true, message: "Nothing to do." }) }),
    };
    const { setup } = await startWizard(t, [partsPlugin(parts)]);
    const first = await setup.start();
    assert.deepEqual([first.done, first.status, first.error], [false, "running", undefined]);
    const { id, ...step } = setup.step;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(step, {
      type: "text",
      title: "First",
      message: "Nothing to do.\n\nYour name?",
      placeholder: "Ann",
      initialValue: "Bob",
      executor: "client",
    });
    assert.deepEqual((await setup.poll()).step, { id, ...step });
    const second = await setup.answer("Ann");
    assert.equal(second.step?.title, "Second");
    assert.notEqual(second.step?.id, id);
    assert.deepEqual(await setup.answer(true), { done: true, status: "done" });
    await assert.rejects(setup.status(), refused("INVALID_REQUEST", /unknown sessionId/));
  });

  it("converts answers by the type of the step", async (t) => {
    const options = [
      { value: "a", label: "A", hint: "first" },
      { value: 2, label: "B" },
    ];
    const kinds = {
      note: { kind: "note", message: "Read this." },
      text: QUESTION,
      confirm: { kind: "confirm", message: "Sure?", initial: true },
      select: { kind: "select", message: "One?", options, initial: 2 },
      multiselect: { kind: "multiselect", message: "Some?", options, initial: ["a"] },
    } as const;
    const given: readonly (readonly [kind: keyof typeof kinds, answer: unknown, becomes: unknown])[] = [
      ["note", "anything", undefined],
      ["text", "x", "x"],
      ["text", 7, "7"],
      ["text", false, "false"],
      ["text", { a: 1 }, ""],
      ["confirm", "yes", true],
      ["confirm", 0, false],
      ["confirm", undefined, false],
      ["select", 2, 2],
      ["multiselect", [2, "a", "unknown"], ["a", 2]],
      ["multiselect", "a", []],
    ];
    const seen: unknown[] = [];
    const parts = given.map(([kind], index) => [
      `part-${index}`,
      asking(kind, index, kinds[kind], (answer) => {
        seen.push(answer);
        return { done: true };
      }),
    ]);
    const { setup } = await startWizard(t, [partsPlugin(Object.fromEntries(parts))]);
    await setup.start();
    for (const [kind, answer] of given) {
      assert.equal(setup.step.type, kind);
      if (kind === "select") {
        assert.deepEqual([setup.step.options, setup.step.initialValue], [options, 2]);
        await assert.rejects(setup.answer("2"), refused("INVALID_REQUEST", /no option.*"a", 2/));
      }
      if (kind === "text") await assert.rejects(setup.answer("x".repeat(10_001)), refused("INVALID_REQUEST", /10000/));
      await setup.answer(answer);
    }
    assert.deepEqual(
      seen,
      given.map(([, , becomes]) => becomes),
    );
  });

  it("runs one setup at a time: a second start names the first, and succeeds after a cancel", async (t) => {
    const { setup, connect } = await startWizard(t, [partsPlugin({ a: asking("A", 1, QUESTION) })]);
    await setup.start();
    const other = await setupAt(await connect());
    await assert.rejects(other.start(), (error: GatewayError) => {
      assert.equal(error.code, "UNAVAILABLE");
      const { code, sessionId } = error.details as Record<string, unknown>;
      assert.deepEqual([code, sessionId], ["WIZARD_RUNNING", setup.sessionId]);
      return true;
    });
    assert.deepEqual(await setup.status(), { status: "running" });
    assert.deepEqual(await setup.cancel(), { status: "cancelled", error: "cancelled" });
    await assert.rejects(setup.poll(), refused("INVALID_REQUEST", /unknown sessionId/));
    await assert.rejects(setup.cancel(), refused("INVALID_REQUEST", /unknown sessionId/));
    assert.equal((await other.start()).status, "running");
  });

  it("refuses an answer for another step, and repeats the pending one without an answer", async (t) => {
    const { client, setup } = await startWizard(t, [partsPlugin({ a: asking("A", 1, QUESTION) })]);
    const { sessionId } = await setup.start();
    const wrong = client.call(wizard.next, { sessionId, answer: { stepId: "another", value: "x" } });
    await assert.rejects(wrong, refused("INVALID_REQUEST", /not the pending step/));
    const { id } = setup.step;
    assert.equal((await setup.poll()).step?.id, id);
    await setup.answer("x");
    await assert.rejects(client.call(wizard.next, { sessionId }), refused("INVALID_REQUEST", /unknown sessionId/));
  });

  it("blocks until the next step, refuses the same answer meanwhile, and answers waiting calls on a cancel", async (t) => {
    let work = () => {};
    let isCalled = false;
    const slow = part("Slow", 1, {
      start: async () => ({ ask: QUESTION }),
      next: ({ signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
          isCalled = true;
          work = () => resolve({ ask: { kind: "note", message: "done waiting" } });
        }),
    });
    const { client, setup } = await startWizard(t, [partsPlugin({ slow })]);
    const { sessionId } = await setup.start();
    const { id: stepId } = setup.step;
    const waiting = setup.answer("x");
    const polling = client.call(wizard.next, { sessionId });
    await until(() => isCalled, "the call of the part");
    const again = client.call(wizard.next, { sessionId, answer: { stepId, value: "x" } });
    await assert.rejects(again, refused("INVALID_REQUEST", /not the pending step/));
    assert.deepEqual(await setup.status(), { status: "running" });
    work();
    const [one, two] = await Promise.all([waiting, polling]);
    assert.equal(one.step?.message, "done waiting");
    assert.deepEqual(two, one);
    const blocked = setup.answer();
    await until(async () => (await setup.status()).status === "running", "a running setup");
    await setup.cancel();
    assert.deepEqual(await blocked, { done: true, status: "cancelled", error: "cancelled" });
  });

  it("goes on when its client disconnects", async (t) => {
    const { connect, setup, client } = await startWizard(t, [partsPlugin({ a: asking("A", 1, QUESTION) })]);
    const gone = await connect();
    const theirs = await setupAt(gone);
    const { sessionId } = await theirs.start();
    await gone.close();
    assert.deepEqual(await client.call(wizard.status, { sessionId }), { status: "running" });
    const { step } = await client.call(wizard.next, { sessionId });
    const end = await client.call(wizard.next, { sessionId, answer: { stepId: step?.id ?? "", value: "x" } });
    assert.equal(end.status, "done");
    assert.equal((await setup.start()).status, "running");
  });

  it("ends with the reason why a part rejected an answer", async (t) => {
    const picky = asking("Picky", 1, QUESTION, () => invalidRequest("a name has at least two letters"));
    const { setup } = await startWizard(t, [partsPlugin({ picky })]);
    await setup.start();
    assert.deepEqual(await setup.answer("x"), {
      done: true,
      status: "error",
      error: "a name has at least two letters",
    });
    await assert.rejects(setup.status(), refused("INVALID_REQUEST", /unknown sessionId/));
  });

  it("refuses mode remote with the way to set up another gateway, and unknown params", async (t) => {
    const { client, setup } = await startWizard(t, []);
    await assert.rejects(setup.start({ mode: "remote" }), refused("INVALID_REQUEST", /svc onboard --url/));
    await assert.rejects(client.request("wizard.start", { mode: "x" }), refused("INVALID_REQUEST", /mode/));
    await assert.rejects(client.request("wizard.start", { more: 1 }), refused("INVALID_REQUEST", /more/));
    await assert.rejects(client.request("wizard.next", { sessionId: "" }), refused("INVALID_REQUEST", /sessionId/));
  });

  it("records the run in the section wizard", async (t) => {
    const { setup, written } = await startWizard(t, [], '{"wizard": {"lastRunCommit": "old"}}');
    assert.equal((await setup.start()).status, "done");
    const { lastRunAt, lastRunVersion, lastRunCommand, lastRunMode, lastRunCommit } = written()["wizard"];
    assert.ok(Math.abs(Date.parse(lastRunAt) - Date.now()) < 60_000);
    assert.deepEqual([lastRunVersion, lastRunCommand, lastRunMode], ["0.1.0", "onboard", "local"]);
    assert.notEqual(lastRunCommit, "old");
  });
});

describe("parts of the setup", limited, () => {
  it("get the requested workspace and the configuration without secrets", async (t) => {
    const calls: SetupCall[] = [];
    const look = part("Look", 1, {
      async start(call) {
        calls.push(call);
        return { done: true };
      },
    });
    const file = '{ gateway: { auth: { token: "0123456789abcdef-secret" } } }';
    const { setup } = await startWizard(t, [partsPlugin({ look })], file);
    await setup.start({ workspace: " /srv/files " });
    const [call] = calls;
    assert.equal(call?.workspace, "/srv/files");
    assert.ok(call.principal.scopes.includes("operator.admin"));
    assert.doesNotMatch(JSON.stringify(call.config), /secret/);
    assert.match(JSON.stringify(call.config), /__SVC_REDACTED__/);
  });

  it("write their settings before the next part starts, and keep those of other writers", async (t) => {
    const seen: unknown[] = [];
    let interfere = async () => {};
    const write = asking("Write", 1, QUESTION, () => ({ done: true, config: { logging: { level: "error" } } }));
    const set = part("Set", 2, {
      async start() {
        await interfere();
        return { done: true, config: { logging: { level: "warn" } } };
      },
    });
    const read = part("Read", 3, {
      async start(call) {
        seen.push(call.config["logging"]);
        return { done: true };
      },
    });
    const { patch, setup, written } = await startWizard(t, [partsPlugin({ write, set, read })]);
    interfere = () => patch("{ logging: { consoleLevel: 'error' } }");
    await setup.start();
    assert.equal((await setup.answer("x")).status, "done");
    assert.deepEqual(seen, [{ consoleLevel: "error", level: "warn" }]);
    assert.equal(written()["logging"].level, "warn");
  });

  it("are repeated or skipped when the configuration is refused; the file stays as it was", async (t) => {
    let attempts = 0;
    const bad = part("Bad", 1, {
      async start() {
        attempts++;
        return { done: true, config: { logging: { level: attempts === 1 ? "loud" : "warn" } } };
      },
    });
    const { setup, written } = await startWizard(t, [partsPlugin({ bad })]);
    await setup.start();
    assert.match(setup.step.message ?? "", /part "bad" of the plugin "guide" failed[\s\S]*logging\.level/);
    assert.deepEqual(
      setup.step.options?.map(({ value }) => value),
      ["repeat", "skip", "end"],
    );
    assert.equal(setup.step.initialValue, "skip");
    assert.equal((written() as { logging?: unknown }).logging, undefined);
    assert.equal((await setup.answer("repeat")).status, "done");
    assert.equal(written()["logging"].level, "warn");
  });

  const broken: readonly (readonly [why: string, start: () => Promise<SetupStep>, told: RegExp])[] = [
    [
      "throws",
      async () => unavailable("the server is away"),
      /"broken" of the plugin "guide" failed: the server is away/,
    ],
    [
      "crashes",
      () => Promise.reject(new Error("internal detail")),
      /"broken" of the plugin "guide" failed; see: svc logs/,
    ],
    [
      "returns nonsense",
      async () => ({ ask: { kind: "dance" } }) as unknown as SetupStep,
      /plugin "guide" returned neither/,
    ],
  ];
  for (const [why, start, told] of broken)
    it(`end with an error that names them: one that ${why}`, async (t) => {
      const parts = { broken: part("Broken", 1, { start }), after: asking("After", 2, QUESTION) };
      const { setup } = await startWizard(t, [partsPlugin(parts)]);
      await setup.start();
      assert.match(setup.step.message ?? "", told);
      assert.doesNotMatch(setup.step.message ?? "", /internal detail/);
      await setup.answer("skip");
      assert.match(setup.step.message ?? "", /^Broken: skipped\. It failed:[\s\S]*Your name\?$/);
    });

  it("end the setup if the person chooses so after a failure", async (t) => {
    const failing = part("Failing", 1, { start: async () => unavailable("no luck") });
    const { setup } = await startWizard(t, [partsPlugin({ failing })]);
    await setup.start();
    const { done, status, error } = await setup.answer("end");
    assert.deepEqual([done, status], [true, "error"]);
    assert.match(error ?? "", /no luck/);
  });

  it("never show an entered secret in a later text", async (t) => {
    const SECRET = "sk-1234567890";
    const key = part("Key", 1, {
      start: async () => ({ ask: { kind: "text", message: "Key?", sensitive: true, initial: "sk-old-secret" } }),
      next: async ({ answer, state }) =>
        state === undefined
          ? {
              ask: {
                kind: "select",
                message: `Refused: ${String(answer)}`,
                options: [{ value: 1, label: `${String(answer)}!` }],
              },
              state: 1,
            }
          : unavailable(`the server rejects ${SECRET}`),
    });
    const { setup } = await startWizard(t, [partsPlugin({ key })]);
    const { step: asked } = await setup.start();
    assert.deepEqual([asked?.sensitive, asked?.initialValue], [true, undefined]);
    const texts = [await setup.answer(`${SECRET} `), await setup.answer(1), await setup.answer("end")];
    assert.doesNotMatch(JSON.stringify(texts), /sk-1234/);
    assert.match(texts[2]?.error ?? "", /rejects \(hidden\)/);
  });

  it("keep their state across a reload of their plugin, and are skipped when it is gone", async (t) => {
    const counting = () =>
      part("Count", 1, {
        start: async () => ({ ask: QUESTION, state: 1 }),
        next: async ({ state }) => ({
          ask: { kind: "note", message: `call ${Number(state)}` },
          state: Number(state) + 1,
        }),
      });
    const plugin = partsPlugin({ count: counting() });
    const { patch, gateway, setup } = await startWizard(t, [plugin]);
    await setup.start();
    assert.equal((await setup.answer("x")).step?.message, "call 1");
    await gateway.reload("guide");
    assert.equal((await setup.answer()).step?.message, "call 2");
    await patch("{ plugins: { entries: { guide: { enabled: false } } } }");
    await until(
      () => gateway.plugins().every(({ id, state }) => id !== "guide" || state !== "active"),
      "the end of guide",
    );
    assert.match((await setup.answer()).step?.message ?? "", /plugin of the part "count" is no longer loaded/);
  });
});
