/** `npm start` before the gateway runs: `.ci/start.mjs`, in a small copy of a checkout whose build leaves a mark. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { root } from "../../checkout.ts";
import { directory, put } from "../../directory.ts";
import { cleanEnvironment } from "../../gateway-process.ts";

const BUILD = `import { mkdirSync, writeFileSync } from "node:fs";
import { keepStamp, sourcesNow } from "./sources.mjs";
const sources = sourcesNow();
mkdirSync(".build", { recursive: true });
mkdirSync("host/cli/dist", { recursive: true });
writeFileSync("host/cli/dist/main.js", "");
keepStamp(sources);
console.log("built");`;

function checkout(t: TestContext) {
  const place = directory(t);
  const state = join(place, "state");
  mkdirSync(state);
  for (const name of ["start.mjs", "sources.mjs"]) cpSync(join(root, ".ci", name), join(place, ".ci", name));
  writeFileSync(join(place, ".ci/build.mjs"), BUILD);
  put(join(place, "host/cli/svc.js"), "console.log(process.argv.slice(2).join(' '));");
  put(join(place, "host/cli/source.ts"), "1");
  const start = () => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(place, ".ci/start.mjs"), "--port", "0"], {
      cwd: tmpdir(),
      env: cleanEnvironment(state),
      encoding: "utf8",
    });
    return `${stderr}${stdout}`;
  };
  return { source: join(place, "host/cli/source.ts"), state, start };
}

describe("npm start", () => {
  const RUNS = "gateway run --port 0\n";
  const BUILDS = `Building, since sources changed; this takes about half a minute ...\nbuilt\n${RUNS}`;

  it("builds once, and again only after a source was changed, added or removed", (t) => {
    const { source, start } = checkout(t);
    assert.deepEqual([start(), start()], [BUILDS, RUNS]);
    writeFileSync(source, "2; // changed");
    assert.deepEqual([start(), start()], [BUILDS, RUNS]);
    rmSync(source);
    assert.deepEqual([start(), start()], [BUILDS, RUNS]);
  });

  it("builds nothing while a gateway runs on the state directory; `gateway run` then refuses", async (t) => {
    const { state, start } = checkout(t);
    const server = createServer(() => {}).listen(join(state, "gateway.sock"));
    t.after(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    assert.equal(start(), RUNS);
  });
});
