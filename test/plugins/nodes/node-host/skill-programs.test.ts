/** Programs that a node allows because skills of its gateway name them. */
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { rulesFor, withPrograms } from "@svc/kit/exec";
import { createSkillPrograms } from "../../../../plugins/nodes/node-host/skill-programs.ts";
import { directory, put } from "../../../directory.ts";

describe("programs of skills on a node", () => {
  it("are those of this machine, asked for once a minute", async (t) => {
    const path = realpathSync(directory(t));
    put(join(path, "tool"), "#!/bin/sh\n", 0o755);
    put(join(path, "text"), "");
    const state = { now: 0, asked: 0, bins: ["tool", "text", "missing", "../tool"], isBroken: false };
    const call = async () => {
      state.asked += 1;
      if (state.isBroken) throw new Error("unknown method");
      return { bins: state.bins };
    };
    const places = { path, platform: process.platform };
    const programs = createSkillPrograms({ client: () => ({ call }) as never, places, now: () => state.now }); // only `call` is used
    assert.deepEqual(await programs(), [join(path, "tool")]);
    state.bins = [];
    state.now = 59_999;
    assert.equal((await programs()).length, 1);
    state.now = 60_000;
    assert.deepEqual([await programs(), state.asked], [[], 2]);
    Object.assign(state, { now: 200_000, isBroken: true });
    assert.deepEqual(await programs(), []);
    Object.assign(state, { isBroken: false, bins: ["tool"] });
    assert.equal((await programs()).length, 1); // a failure is not kept
  });

  it("are none without a connection", async () => {
    const places = { path: "/usr/bin", platform: process.platform };
    assert.deepEqual(await createSkillPrograms({ client: () => undefined, places })(), []);
  });

  it("count as allowed only if the policy says so: of the agent, of all, or of the defaults", () => {
    const allowlist = (file: object) =>
      withPrograms(rulesFor({ version: 1, ...file }, "main"), ["/usr/bin/x", "/opt/*"]).allowlist;
    const entry = [{ pattern: "/usr/bin/x", anyArguments: true }]; // a pattern would mean other programs, too
    assert.deepEqual(allowlist({}), []);
    assert.deepEqual(allowlist({ defaults: { autoAllowSkills: true } }), entry);
    assert.deepEqual(
      allowlist({ defaults: { autoAllowSkills: true }, agents: { "*": { autoAllowSkills: false } } }),
      [],
    );
    assert.deepEqual(
      allowlist({ agents: { main: { autoAllowSkills: true }, "*": { autoAllowSkills: false } } }),
      entry,
    );
  });
});
