/** Name and picture of the default agent as the panel shows it: `ui.assistant`, else the agent's own. */
import { BASE } from "./address.ts";

export interface Assistant {
  readonly agentId: string;
  readonly name: string;
  /** Text of a few characters, a data URL, or an address; see `pictureOf`. */
  readonly avatar: string;
}

export async function readAssistant(): Promise<Assistant> {
  const response = await fetch(new URL("__svc/control-ui-config.json", BASE));
  const { assistantAgentId, assistantName, assistantAvatar } = (await response.json()) as Record<string, string>;
  return { agentId: assistantAgentId ?? "main", name: assistantName ?? "", avatar: assistantAvatar ?? "" };
}

/**
 * The address of a picture that may be loaded: part of the answer, or served by the gateway. A picture of another server would tell
 * that server who looks.
 */
export function pictureOf(avatar: string): string | undefined {
  if (/^data:image\/(?:png|jpeg|gif|webp);/.test(avatar)) return avatar;
  return avatar.startsWith(`${BASE.pathname}avatar/`) ? avatar : undefined;
}
