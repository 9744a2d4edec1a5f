/** Notifications by the machine's own program, which gets the texts as arguments. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { findNotifier, notify } from "../../../../plugins/nodes/node-host/notify.ts";
import { fakeGateway } from "./fake-gateway.ts";
import { nodeState, startNode } from "./node.ts";

/** A program that writes its arguments to a file, a line each. */
function fakeProgram(t: TestContext, name: string, exitCode = 0) {
  const bin = join(nodeState(t), "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' "$@" > ${bin}/args\necho broken >&2\nexit ${exitCode}\n`);
  chmodSync(join(bin, name), 0o755);
  return { path: bin, args: () => readFileSync(join(bin, "args"), "utf8").trimEnd().split("\n") };
}

const never = new AbortController().signal;

describe("system.notify", () => {
  it("passes title and body as arguments on Linux", async (t) => {
    const { path, args } = fakeProgram(t, "notify-send");
    const notifier = await findNotifier({ path, platform: "linux" });
    await notify({ title: "--icon=x", body: "$(id)\u001b`id`" }, notifier, { PATH: "/bin:/usr/bin" }, never);
    assert.deepEqual(args(), ["--app-name=svc", "--", "--icon=x", "$(id) `id`"]);
  });

  it("passes them as arguments of the script on macOS", async (t) => {
    const { path, args } = fakeProgram(t, "osascript");
    const notifier = await findNotifier({ path, platform: "darwin" });
    await notify({ body: '" & do shell script "id' }, notifier, { PATH: "/bin:/usr/bin" }, never);
    const all = args();
    assert.deepEqual(all.slice(-3), ["--", "svc", '" & do shell script "id']);
    assert.doesNotMatch(all.slice(0, -3).join("\n"), /id/);
  });

  it("says why a notification was not shown, and refuses one without text", async (t) => {
    const { path } = fakeProgram(t, "notify-send", 3);
    const notifier = await findNotifier({ path, platform: "linux" });
    await assert.rejects(notify({ title: "x" }, notifier, { PATH: "/bin:/usr/bin" }, never), {
      code: "UNAVAILABLE",
      message: "the notification was not shown: broken",
    });
    await assert.rejects(notify({ title: " ", body: "\u0007" }, notifier, {}, never), { code: "INVALID_REQUEST" });
  });

  it("is declared if such a program exists; otherwise the refusal names what is missing", async (t) => {
    const gateway = await fakeGateway(t);
    const { path } = fakeProgram(t, "notify-send");
    startNode(t, gateway.url, { env: { PATH: `${path}:/bin:/usr/bin` } });
    await gateway.connected(1);
    const declared = gateway.connects[0]?.["commands"] as string[];
    assert.equal(declared.includes("system.notify"), process.platform === "linux");
    startNode(t, gateway.url, { env: { PATH: "/nowhere" } });
    await gateway.connected(2);
    const without = declared.filter((name) => name !== "system.notify");
    assert.deepEqual(gateway.connects[1]?.["commands"], without);
    const { error } = await gateway.invoke("system.notify", { title: "x" });
    assert.equal(error?.code, "UNAVAILABLE");
    assert.match(error?.message ?? "", /no program for notifications/);
  });
});
