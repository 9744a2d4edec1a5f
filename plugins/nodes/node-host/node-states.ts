/** States that a node program prints, one line each. Pure. */
import { visible } from "@svc/sdk/cli";

/** With `--json`, printed as JSON. */
export type NodeState =
  | { readonly state: "connected"; readonly url: string; readonly nodeId: string; readonly displayName: string }
  | {
      readonly state: "waiting";
      readonly url: string;
      readonly nodeId: string;
      readonly requestId: string | undefined;
      /** `not-paired`, or what changed since the approval. */
      readonly reason: string | undefined;
      /** Command to run on the gateway's machine. */
      readonly next: string;
    }
  | { readonly state: "reconnecting"; readonly why: string; readonly inMs: number }
  | { readonly state: "note"; readonly text: string }
  | { readonly state: "refused"; readonly why: string; readonly next: string }
  | { readonly state: "stopped" };

/** The command that approves a request of a device. */
export function approveCommand(requestId: string | undefined): string {
  return requestId === undefined ? "svc devices list" : `svc devices approve ${requestId}`;
}

/** One line; for a refusal a second line with the next step. */
export function stateLine(told: NodeState): string {
  switch (told.state) {
    case "connected":
      return visible(`connected to ${told.url} as ${told.displayName} (node ${told.nodeId})`);
    case "waiting": {
      const request =
        told.requestId === undefined ? "" : ` (request ${told.requestId}, ${told.reason ?? "not-paired"})`;
      return visible(`waiting for approval${request}; run on the gateway: ${told.next}`);
    }
    case "reconnecting":
      return visible(`reconnecting in ${Math.max(1, Math.round(told.inMs / 1_000))} s: ${told.why}`);
    case "note":
      return visible(told.text);
    case "refused":
      return `${visible(`refused: ${told.why}`)}\nNext: ${visible(told.next)}`;
    case "stopped":
      return "stopped";
  }
}
