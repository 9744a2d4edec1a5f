import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { home, writeVerb } from "./svc.ts";

const few = { plugins: { use: ["config"] } };

describe("svc completion --complete", { timeout: 120_000 }, () => {
  const rows: [line: string, found: string][] = [
    ["conf", "config"],
    ["config s", "schema set"],
    ["config get --", "--help --json"],
    ["config get --json --", "--help"],
    ["gateway run --po", "--port"],
    ["gateway run --port ", ""],
    ["gateway run --port 1 --l", "--last-good --log-level"],
    ["completion ", "bash fish zsh"],
    ["completion bash ", ""],
    ["nonsense x", ""],
    ["gateway call -- --", ""],
  ];
  it("prints the words that may follow, with descriptions for --describe", async (t) => {
    const { svc } = home(t, few);
    for (const [line, found] of rows) {
      const { code, stdout, stderr } = await svc(["completion", "--complete", "--", ...line.split(" ")]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.equal(stdout.split("\n").filter(Boolean).sort().join(" "), found, line);
    }
    const { stdout } = await svc(["completion", "--complete", "--describe", "--", "config", "unset"]);
    assert.equal(stdout, "unset\tRemove one value\n");
  });

  it("knows the verbs and options of plugins, and runs none", async (t) => {
    const here = home(t, { plugins: { use: ["./greeter"] } });
    const options = '[{ flags: "--loud", description: "Shout" }]';
    writeVerb(here, "greeter", "greet", `options: ${options}, async run() {}`);
    const ask = async (...words: string[]) => (await here.svc(["completion", "--complete", "--", ...words])).stdout;
    assert.equal(await ask("gre"), "greet\n");
    assert.equal(await ask("greet", "--l"), "--loud\n");
  });

  it("prints no error for a broken configuration", async (t) => {
    const { svc } = home(t, "{");
    const { code, stdout, stderr } = await svc(["completion", "--complete", "--", "plug"]);
    assert.deepEqual([code, stdout, stderr], [0, "plugins\n", ""]);
  });
});

describe("svc completion", { timeout: 120_000 }, () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    it(`prints a script for ${shell} that the shell accepts, if the shell is installed`, async (t) => {
      const { code, stdout, stderr } = await home(t, few).svc(["completion", shell]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /completion --complete/);
      const check = spawnSync(shell, ["-n"], { input: stdout, encoding: "utf8" });
      if (check.error) return t.diagnostic(`${shell} is not installed`);
      assert.deepEqual([check.status, check.stderr], [0, ""]);
    });
  }
});
