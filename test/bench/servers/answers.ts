/** Answers shared by the bare servers and the benchmark's plugin, so that both send the same bytes. */

/** As large as the health summary of the full bundle: about 500 bytes of JSON. */
export const HEALTH_SIZED = {
  ok: true,
  ts: 1_700_000_000_000,
  durationMs: 3,
  channels: {},
  channelOrder: [],
  channelLabels: {},
  heartbeatSeconds: 1_800,
  defaultAgentId: "main",
  agents: [{ agentId: "main", isDefault: true, heartbeat: { enabled: true, every: "30m", everyMs: 1_800_000 } }],
  sessions: {
    path: "state.sqlite",
    count: 128,
    recent: Array.from({ length: 2 }, (_, index) => ({
      key: `agent:main:conversation-${index}`,
      updatedAt: 1_700_000_000_000 - index,
      age: index,
    })),
  },
} as const;

/** Payload of the broadcast event: as large as a piece of a streamed reply. */
export const NEWS = {
  runId: "5f6d2c1e-8a0b-4f0e-9d55-0f7f9a1f2b3c",
  stream: "assistant",
  ts: 1_700_000_000_000,
  data: { text: "x".repeat(200), delta: "x" },
  sessionKey: "agent:main:main",
} as const;

/** Names on the wire. */
export const NAMES = { healthSized: "bench.healthSized", publish: "bench.publish", news: "bench.news" } as const;

interface Request {
  readonly id: string;
  readonly method: string;
}

/** Parses and answers a message to a bare server. Calls `publish` for the message that is broadcast. */
export function answer(text: string, publish: (event: string) => void): string {
  const { id, method } = JSON.parse(text) as Request;
  if (method === NAMES.publish) publish(newsEvent());
  return JSON.stringify({ type: "res", id, ok: true, payload: HEALTH_SIZED });
}

let seq = 0;

function newsEvent(): string {
  return JSON.stringify({ type: "event", event: NAMES.news, payload: NEWS, seq: ++seq });
}
