/** Runs whose answer may say nothing: what is left of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ended, outline, run, start, until } from "../fixture.ts";
import { calls, hangsAfter, inTurn, MAIN, request, says } from "../script.ts";

const acknowledgement = { maxChars: 300, repeats: "The plants are dry." };
const SAID = ["user: hello from r0", "assistant: fine"];

describe("a run that may end in an acknowledgement", () => {
  const cases: [what: string, answer: string, takenBack: string | undefined][] = [
    ["the word", "All is well. HEARTBEAT_OK", "token"],
    ["nothing", "NO_REPLY", "empty"],
    ["what was said before", "The plants are dry.", "duplicate"],
    ["news", "It rains.", undefined],
  ];
  for (const [what, answer, takenBack] of cases)
    it(`ends with ${what}`, async (t) => {
      const gateway = await start(t, { answer: inTurn(says("fine"), says(answer)) });
      await run(gateway, "r0");
      const before = await gateway.sessions.get(MAIN);
      gateway.clock.advance(60_000);
      const outcome = await run(gateway, "r1", { acknowledgement });
      assert.deepEqual([outcome.status, outcome.text, outcome.takenBack], ["ok", answer, takenBack]);
      const own = ["user: hello from r1", `assistant: ${answer}`];
      assert.deepEqual(await outline(gateway), takenBack === undefined ? [...SAID, ...own] : SAID);
      const after = await gateway.sessions.get(MAIN);
      if (takenBack !== undefined) assert.deepEqual(after, before);
      assert.equal((await gateway.runs.state("r1"))?.status, "ok");
      assert.ok(gateway.events.every(({ runId, isQuiet }) => (isQuiet === true) === (runId === "r1")));
      assert.ok(gateway.broadcasts.every(({ payload }) => !("isQuiet" in payload)));
    });

  it("takes its tools back, too", async (t) => {
    const gateway = await start(t, { answer: inTurn(says(calls("nobody")), says("HEARTBEAT_OK")) });
    assert.equal((await run(gateway, "r1", { acknowledgement })).takenBack, "token");
    assert.deepEqual(await outline(gateway), []);
  });

  it("without such a rule keeps the word", async (t) => {
    const gateway = await start(t, { answer: says("HEARTBEAT_OK") });
    assert.equal((await run(gateway, "r1")).takenBack, undefined);
    assert.equal((await outline(gateway)).length, 2);
  });
});

describe("a lane", () => {
  it("is busy while a run of it waits or runs", async (t) => {
    const gateway = await start(t, { answer: hangsAfter("Half") });
    assert.equal(gateway.runs.isBusy("main"), false);
    await gateway.runs.start(request("r1"));
    await until(() => gateway.runs.active(MAIN).some(({ status }) => status === "running"));
    assert.deepEqual([gateway.runs.isBusy("main"), gateway.runs.isBusy("cron")], [true, false]);
    gateway.runs.abort("r1", "rpc");
    await ended(gateway, "r1");
    assert.equal(gateway.runs.isBusy("main"), false);
  });
});
