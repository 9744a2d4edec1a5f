/** What a call may do when its model was shown words of somebody with less authority. Pure. Spec: design/security.md. */
import { mayAsk, type Origin, type Scope } from "@svc/sdk";
import { TOOL_EFFECTS, type OutsideWords, type Tool, type ToolCall, type ToolEffect } from "@svc/sdk/tools";

/** What becomes of a call that the words do not suffice for. */
export const FROM_OUTSIDE = ["ask", "deny", "allow"] as const;
export type FromOutside = (typeof FROM_OUTSIDE)[number];

/** What the author of the words has to be allowed himself. Absent: anybody's words suffice. */
const NEEDED: Readonly<Partial<Record<ToolEffect, Scope>>> = {
  "sends-out": "operator.write",
  "runs-code": "operator.write",
  "writes-identity": "operator.admin",
  "changes-gateway": "operator.admin",
};

/** Those of `effects` that words of `origin` do not suffice for. */
export function unbacked(effects: readonly ToolEffect[], origin: Origin): readonly ToolEffect[] {
  return effects.filter((effect) => {
    const scope = NEEDED[effect];
    return scope !== undefined && !mayAsk(origin, scope);
  });
}

/** What any call of the tool can do. A tool that decides by its arguments may do all of it. */
export function possibleEffects({ effects }: Pick<Tool, "effects">): readonly ToolEffect[] {
  return typeof effects === "object" ? effects : TOOL_EFFECTS;
}

/** What this call does. @param args match the tool's `params` */
export async function effectsOf({ effects }: Pick<Tool, "effects">, call: ToolCall): Promise<readonly ToolEffect[]> {
  return typeof effects === "function" ? effects(call.arguments, call) : (effects ?? TOOL_EFFECTS);
}

const DOES: Readonly<Record<ToolEffect, string>> = {
  reads: "reads",
  "writes-workspace": "writes files",
  "writes-identity": "changes who the agent is",
  "sends-out": "tells somebody outside of this conversation",
  "runs-code": "runs a program",
  spends: "costs money",
  "changes-gateway": "changes the gateway",
};

/** Why somebody is asked, or why not: for people and models. */
export function reasonFor(effects: readonly ToolEffect[], { origin }: Pick<OutsideWords, "origin">): string {
  const does = effects.map((effect) => DOES[effect]).join(" and ");
  return `it ${does}, and this conversation holds words from ${nameOf(origin)}, who may not ask for that`;
}

/** An origin in words, e.g. `web (https://example.com)`. */
export function nameOf({ kind, id }: Origin): string {
  return id === undefined ? kind : `${kind} (${id})`;
}
