/** How a written change takes effect in a running gateway, in words. Pure. Spec: protocol/methods-config.md §5. */
import type { ReloadKind } from "@svc/sdk/config";

/** Of `gateway.reload.mode`; anything else counts as the default, `hybrid`. */
type Mode = "hybrid" | "hot" | "restart" | "off";

const BY_HAND = "Next: restart it, or send its process SIGUSR1.";
const NOT_BY_ITSELF = `A running gateway goes on without it: gateway.reload.mode is`;

export function describeEffect(reload: ReloadKind | undefined, mode: unknown): string {
  if (reload === undefined) return "Nothing to do for a running gateway.";
  switch (mode as Mode) {
    case "off":
      return `${NOT_BY_ITSELF} off. ${BY_HAND}`;
    case "restart":
      return "A running gateway restarts within its process to take it up: gateway.reload.mode is restart.";
    case "hot":
      return reload === "restart" ? `${NOT_BY_ITSELF} hot, and this needs a restart. ${BY_HAND}` : EFFECT[reload];
    default:
      return EFFECT[reload];
  }
}

const EFFECT: Record<ReloadKind, string> = {
  hot: "A running gateway takes it up at once.",
  plugin: "A running gateway takes it up at once, by reloading the plugin it belongs to.",
  restart: "A running gateway restarts within its process to take it up.",
};
