import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { home } from "../svc.ts";

const few = { plugins: { use: ["config"] } };

describe("svc config diff", { timeout: 120_000 }, () => {
  it("compares the file with another one; secrets are hidden but compared", async (t) => {
    const { svc, configPath } = home(t, { ...few, gateway: { port: 1, auth: { token: "CANARY1" } } });
    const draft = join(dirname(configPath), "draft.json");
    writeFileSync(draft, JSON.stringify({ ...few, gateway: { port: 2, auth: { token: "CANARY2" } } }));
    const { code, stdout, stderr } = await svc(["config", "diff", draft]);
    assert.deepEqual([code, stderr], [1, ""]);
    assert.match(stdout, /^gateway\.auth\.token\n {2}hidden values differ \(.*\)\ngateway\.port\n/);
    assert.ok(stdout.includes(`  ${configPath}  1\n`) || /svc\.json +1\n/.test(stdout));
    assert.ok(!stdout.includes("CANARY"));
    const json = JSON.parse((await svc(["config", "diff", draft, "--json"])).stdout);
    assert.deepEqual([json.same, json.changes.length], [false, 2]);
    const same = await svc(["config", "diff", configPath]);
    assert.deepEqual([same.code, same.stdout], [0, `${configPath} and ${configPath} are the same\n`]);
  });

  it("treats a plugin's default as if it were set", async (t) => {
    const { svc, configPath } = home(t, { plugins: { use: ["sessions"] } });
    const draft = join(dirname(configPath), "draft.json");
    writeFileSync(draft, JSON.stringify({ plugins: { use: ["sessions"] }, session: { mainKey: "main" } }));
    assert.equal((await svc(["config", "diff", draft])).code, 0);
  });

  const refusals: [why: string, args: string[], says: RegExp][] = [
    ["no gateway was ever started", [], /no gateway was started from .*\nNext: svc gateway run/],
    ["there is no such file", ["./no-such-file.json"], /no-such-file\.json does not exist\nNext: name another file/],
  ];
  for (const [why, args, says] of refusals) {
    it(`says when ${why}`, async (t) => {
      const { code, stdout, stderr } = await home(t, few).svc(["config", "diff", ...args]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, says);
    });
  }

  it("compares what the gateway uses with the file", async (t) => {
    const here = home(t, { ...few, gateway: { auth: { token: "CANARY" }, reload: { mode: "off" } } });
    await here.run();
    assert.deepEqual(await here.svc(["config", "diff"]), {
      code: 0,
      stdout: "gateway and file are the same\n",
      stderr: "",
    });
    const later = { ...few, gateway: { auth: { token: "CANARY" }, reload: { mode: "off" }, port: 19_001 } };
    writeFileSync(here.configPath, JSON.stringify(later));
    const { code, stdout } = await here.svc(["config", "diff"]);
    assert.deepEqual([code, stdout], [1, "gateway.port\n  gateway  (not set)\n  file     19001\n"]);
  });
});
