/** Data for every view: what a gateway looks like that people have used for a while. */
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execApproval } from "@svc/sdk/approvals";
import { chat, chatEvent } from "@svc/sdk/chat";
import { cron } from "@svc/sdk/cron";
import { connect } from "@svc/sdk/client";
import { createDevice } from "@svc/sdk/device";
import { sessions } from "@svc/sdk/sessions";
import type { PanelScene, SceneOptions } from "./browser-scene.ts";

/** Configuration and files that a seeded gateway starts with. */
export const SEEDED: SceneOptions = {
  config: {
    agents: { list: [{ id: "main" }, { id: "research", name: "Research" }] },
    hooks: {
      enabled: true,
      token: "a-token-of-webhooks-0123456789",
      mappings: [
        { match: { path: "builds" }, action: "agent", messageTemplate: "The build {{name}} ended with {{status}}" },
        { match: { path: "alarms" }, action: "wake", textTemplate: "Alarm: {{text}}" },
      ],
    },
    channels: { telegram: { enabled: false, botToken: "123456:not-a-real-token" } },
  },
  async prepare(stateDir) {
    const workspace = join(stateDir, "workspace");
    await mkdir(join(workspace, "memory"), { recursive: true });
    await writeFile(join(workspace, "IDENTITY.md"), "- Name: Ada\n- Emoji: 🦉\n");
    await writeFile(
      join(workspace, "MEMORY.md"),
      "# Memory\n\nThe office closes at six. The printer is called Otto.\n",
    );
    await writeFile(join(workspace, "memory/2026-11-20.md"), "- Decided to move the database to the new server.\n");
  },
};

const ANSWER = `Here is what I found:

| Server | State | Load |
|---|---|---|
| \`alpha\` | **up** | 12 % |
| \`beta\` | down | – |

1. Restart *beta*
2. Look at its log

\`\`\`sh
ssh beta journalctl -u app --since "10 min ago" | tail -40
\`\`\`

More in [the handbook](https://handbook.example/servers).`;

export async function seedEverything({ client, gateway }: PanelScene): Promise<void> {
  const main = "agent:main:main";
  await say(client, main, "Which servers are up?");
  await client.call(chat.inject, { sessionKey: main, message: ANSWER });
  await say(client, main, "status");
  await say(client, "agent:research:main", "Summarize the news of today");
  for (let nth = 1; nth <= 12; nth++) {
    await client.call(sessions.patch, { key: `agent:main:project-${nth}`, label: `Project ${nth}: plans and notes` });
  }
  await client.call(cron.add, {
    name: "Morning report",
    schedule: { kind: "cron", expr: "0 8 * * 1-5", tz: "Europe/Berlin" },
    sessionTarget: "isolated",
    payload: { kind: "agentTurn", message: "Summarize the tickets of yesterday" },
  } as never);
  await client.call(cron.add, {
    name: "Check the backups",
    enabled: false,
    schedule: { kind: "every", everyMs: 21_600_000 },
    sessionTarget: "main",
    payload: { kind: "systemEvent", text: "Check whether the backup of last night is complete" },
  } as never);
  void client
    .call(execApproval.request, {
      command: "rm -rf ./build && make release",
      cwd: "/srv/app",
      agentId: "main",
      sessionKey: main,
      timeoutMs: 600_000,
    })
    .catch(() => undefined); // pending until the gateway ends
  await fetch(`${gateway.url.replace(/^ws/, "http")}/hooks/builds`, {
    method: "POST",
    headers: { authorization: "Bearer a-token-of-webhooks-0123456789", "content-type": "application/json" },
    body: JSON.stringify({ name: "nightly", status: "failure" }),
  });
  await connect({
    url: gateway.url,
    token: gateway.token,
    device: createDevice(),
    role: "node",
    scopes: [],
    caps: ["camera"],
    commands: ["camera.list"],
    client: { id: "node-host", mode: "node", version: "1", platform: "android", displayName: "Pixel of Ada" },
  }).catch(() => undefined); // waits for an approval from now on
}

async function say(client: PanelScene["client"], sessionKey: string, message: string): Promise<void> {
  const runId = randomUUID();
  const answered = new Promise<void>((resolve) => {
    const stop = client.on(chatEvent, ({ runId: id, state }) => {
      if (id !== runId || state === "delta") return;
      stop();
      resolve();
    });
  });
  await client.call(chat.send, { sessionKey, message, idempotencyKey: runId });
  await answered;
}
