/** `svc wake`, `svc heartbeat last|on|off`. */
import { invalidRequest } from "@svc/sdk";
import { askingWith, type CommandContext, defineCommands, show, time } from "@svc/sdk/cli";
import { heartbeat, type HeartbeatReport } from "@svc/sdk/heartbeat";

const asking = askingWith({
  plugin: "heartbeat",
  step: "enable the plugin heartbeat on the gateway; check with: svc plugins list",
});

export default defineCommands([
  {
    name: "wake",
    summary: "Send an event to the main session, and wake its agent",
    args: "<text>",
    options: [{ flags: "--mode <mode>", description: "now | next-heartbeat", default: "now" }],
    examples: ['svc wake "The printer is out of paper"', 'svc wake "Invoice 17 is paid" --mode next-heartbeat'],
    async run(context) {
      const { mode } = context.options;
      if (mode !== "now" && mode !== "next-heartbeat") invalidRequest("--mode must be now or next-heartbeat");
      const [text = ""] = context.args;
      const result = await asking(context, ["operator.write"], (client) => client.call(heartbeat.wake, { mode, text }));
      if (!result.ok) invalidRequest("the text is blank; describe what happened");
      show(context, result, () => [
        mode === "now" ? "Event added; waking the session." : "Event added to the next turn.",
      ]);
    },
  },
  {
    name: "heartbeat last",
    summary: "Show the result of the last heartbeat since the gateway started",
    examples: ["svc heartbeat last", "svc heartbeat last --json"],
    run: (context) =>
      asking(context, ["operator.read"], async (client) =>
        show(context, await client.call(heartbeat.last, {}), reportLines),
      ),
  },
  {
    name: "heartbeat on",
    summary: "Resume heartbeats",
    examples: ["svc heartbeat on"],
    run: (context) => switched(context, true),
  },
  {
    name: "heartbeat off",
    summary: "Pause heartbeats until `svc heartbeat on` or the next start of the gateway",
    examples: ["svc heartbeat off"],
    run: (context) => switched(context, false),
  },
]);

function switched(context: CommandContext, enabled: boolean): Promise<void> {
  return asking(context, ["operator.admin"], async (client) =>
    show(context, await client.call(heartbeat.set, { enabled }), () => [`Heartbeats: ${enabled ? "on" : "off"}`]),
  );
}

/** Printed lines of a report. */
export function reportLines(report: HeartbeatReport | null): readonly string[] {
  if (!report) return ["No heartbeat since the gateway started."];
  const { ts, status, reason, channel, to, durationMs, preview } = report;
  const place = channel === undefined ? "" : ` to ${to ?? "?"} on ${channel}`;
  return [
    `${time(ts)}: ${status}${place}${reason === undefined ? "" : ` (${reason})`}`,
    ...(durationMs === undefined ? [] : [`Took: ${durationMs} ms`]),
    ...(preview === undefined ? [] : [`Answer: ${preview}`]),
  ];
}
