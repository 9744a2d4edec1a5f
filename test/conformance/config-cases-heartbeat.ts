/** Keys of heartbeats: those of agents are seen in the directory of agents; who is shown what, where a heartbeat ends. */
export const HEARTBEAT_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "channels.defaults.heartbeat.": "plugins/heartbeat/beats.test.ts",
};
