/** `svc files status`: what the gateway shares with others. */
import type { ResultOf } from "@svc/sdk";
import { files } from "@svc/sdk/agents";
import { defineCommands, show, visible, withGateway } from "@svc/sdk/cli";

type Status = ResultOf<typeof files.status>;

export default defineCommands([
  {
    name: "files status",
    summary: "Show which workspaces are shared with other gateways",
    examples: ["svc files status", "svc files status --json"],
    async run(context) {
      await withGateway(context, ["operator.read"], async (client) =>
        show(context, await client.call(files.status, {}), linesOf),
      );
    },
  },
]);

function linesOf({ store, workspaces }: Status): readonly string[] {
  if (store === undefined)
    return [
      "No files are shared: each gateway has its own workspaces.",
      "Next: set files.s3 or files.directory at every gateway, see the README of the plugin files.",
    ];
  const lines = workspaces.flatMap(({ agentId, workspace, files: count, bytes, error, conflicts, skipped }) => [
    `${agentId}: ${count} files, ${Math.ceil(bytes / 1_000)} kB, ${workspace}`,
    ...(error === undefined ? [] : [`  Not up to date: ${error}`]),
    ...(conflicts === 0 ? [] : [`  ${conflicts} files kept under another name: look for *.conflict-* and merge them`]),
    ...skipped.map(({ path, reason }) => `  Not shared: ${path}: ${reason}`),
  ]);
  return [`Shared through ${store}`, ...lines].map((line) => visible(line));
}
