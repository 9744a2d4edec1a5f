/** Third-party names and commands, as `svc` prints them: they cannot control the terminal or hide text in it. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { it } from "node:test";
import { execApproval } from "@svc/sdk/approvals";
import { connect } from "@svc/sdk/client";
import { cron } from "@svc/sdk/cron";
import { createDevice } from "@svc/sdk/device";
import { sessions } from "@svc/sdk/sessions";
import { directoryOf } from "../host/kernel/reload-scene.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { svc } from "../run-svc.ts";
import { connectNode } from "./attendance.ts";

const HIDDEN = "\u202e\u200b\u2066\u2062\ufeff\u00ad\u061c\u{e0041}\ufe0f";
const STEERING = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]|[^\P{Cc}\n\t]/u;

/** Each command, with the name it must print. */
const COMMANDS: readonly (readonly [line: string, names: string])[] = [
  ["sessions list", "evil-session"],
  ["sessions show agent:main:main", "evil-session"],
  ["cron list --all", "evil-job"],
  ["devices list", "evil-device"],
  ["nodes list", "evil-node"],
  ["approvals list", "evil-command"],
  ["gateway status", ""],
];

it("third-party names are shown without control and invisible characters", { timeout: 300_000 }, async (t) => {
  const stateDir = await directoryOf(t, "svc-terminal-");
  const gateway = await startGatewayProcess(stateDir);
  t.after(() => gateway.kill());
  const { url, token } = gateway;
  const client = await gateway.connect();
  await client.call(sessions.patch, { key: "agent:main:main", label: `evil-session${HIDDEN}` });
  const job = { name: `evil-job${HIDDEN}`, text: `text${HIDDEN}`, schedule: { everyMs: 3_600_000 } };
  await client.call(cron.add, { ...job, enabled: false });
  const named = (displayName: string) => ({ displayName: `${displayName}${HIDDEN}`, platform: `linux${HIDDEN}` });
  const cli = { id: "cli", mode: "cli", ...named("evil-device") } as const;
  const device = await connect({ url, token, device: createDevice(), client: cli });
  const host = { id: "node-host", mode: "node", ...named("evil-node") } as const;
  const node = await connectNode({ url, token }, createDevice(), { client: host });
  const command = `echo evil-command${HIDDEN}`;
  const params = { id: `q${HIDDEN}`, command, timeoutMs: 600_000 };
  const question = client.call(execApproval.request, params, { timeoutMs: 0 });
  question.catch(() => undefined); // it is still pending when the test ends
  for (;;) {
    const { approvals } = await client.call(execApproval.list, {});
    const [shown] = approvals;
    if (shown) {
      assert.ok(shown.request.command.includes("evil-command\\u202e\\u200b"), shown.request.command);
      assert.doesNotMatch(shown.request.command, STEERING);
      break;
    }
    await delay(10);
  }

  for (const [line, names] of COMMANDS)
    for (const more of [[], ["--json"]]) {
      const what = [...line.split(" "), ...more];
      const { code, stdout, text } = await svc(stateDir, [...what, "--url", url, "--token", token]);
      assert.equal(code, 0, text);
      assert.ok(stdout.includes(names), `${what.join(" ")}: ${stdout}`);
      assert.doesNotMatch(text, STEERING, what.join(" "));
      if (more.length > 0) JSON.parse(stdout);
    }
  await Promise.all([node.close(), device.close(), client.close()]);
  await gateway.kill("SIGTERM");
});
