/** Transforms that return 50 MB, as one text and as many values, in both placements: their webhooks are refused, others are not affected. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { webhooks } from "@svc/sdk/webhooks";
import { floodScene } from "./flood-scene.ts";

const TOKEN = "hook-token-of-the-floods";
const LARGE: Readonly<Record<string, string>> = {
  text: `"x".repeat(50_000_000)`,
  texts: `Array.from({ length: 1_000 }, () => "x".repeat(50_000))`,
  values: `Array.from({ length: 2_000_000 }, (_, n) => ({ n }))`,
  keys: `Object.fromEntries(Array.from({ length: 500_000 }, (_, n) => ["key" + n, n]))`,
};

for (const placement of ["host", "worker"]) {
  it(`in placement ${placement}`, { timeout: 120_000 }, async (t) => {
    // A transform in the gateway blocks it while it computes (placement `worker` avoids that), so only cheap ones run there.
    const large = Object.keys(LARGE).filter((name) => placement === "worker" || name.startsWith("text"));
    const paths = [...large, "small"];
    const mappings = paths.map((path) => ({
      id: path,
      match: { path },
      action: "wake",
      textTemplate: "-",
      wakeMode: "next-heartbeat",
      transform: { module: `${path}.ts`, placement },
    }));
    const { gateway, client, during, othersServe, stops } = await floodScene(
      t,
      { agents: { defaults: { skipBootstrap: true } }, hooks: { enabled: true, token: TOKEN, mappings } },
      async (stateDir) => {
        const directory = join(stateDir, "hooks/transforms");
        await mkdir(directory, { recursive: true, mode: 0o700 });
        for (const [name, code] of Object.entries({ ...LARGE, small: `"small"` }))
          await writeFile(join(directory, `${name}.ts`), `export default () => ({ text: ${code} });\n`, {
            mode: 0o600,
          });
      },
    );
    const post = async (path: string) => {
      const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
      const answer = await fetch(`${gateway.url.replace("ws:", "http:")}/hooks/${path}`, {
        method: "POST",
        headers,
        body: "{}",
      });
      return { status: answer.status, text: await answer.text() };
    };
    assert.equal((await post("small")).status, 200);
    await during(async () => {
      for (const path of large) {
        const answers = await Promise.all(Array.from({ length: 4 }, () => post(path)));
        for (const answer of answers)
          assert.deepEqual(answer, { status: 500, text: JSON.stringify({ ok: false, error: "hook mapping failed" }) });
      }
    });
    const why = String.raw`the result is larger than 1048576 bytes; return less|it used more than 64 MB of memory`;
    for (const path of large)
      assert.match(gateway.log(), new RegExp(String.raw`transform ${path}\.ts: (?:${why})`), path);
    assert.equal((await post("small")).status, 200);
    const { runs } = await client.call(webhooks.runs, { limit: 200 });
    assert.equal(runs.length, 2, "nothing of the large ones is kept");
    await othersServe();
    await stops();
  });
}
