/** Keys of heartbeats: those of agents show in the directory of agents, those of visibility where a heartbeat ends. */
export const HEARTBEAT_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "channels.defaults.heartbeat.": "plugins/heartbeat/beats.test.ts",
};
