/** What a call may do when its model was shown words of somebody with less authority. Pure. Spec: design/security.md. */
import { mayAsk, nameOfOrigin, type Origin, outsideOrigin, type Scope } from "@svc/sdk";
import { type EffectsContext, type OutsideWords, type Tool, TOOL_EFFECTS, type ToolEffect } from "@svc/sdk/tools";

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

type Declared = Pick<Tool, "effects" | "scope" | "ownerOnly">;

/** What any call of the tool does: of a tool that decides by its arguments, little is known. */
export function certainEffects(tool: Declared): readonly ToolEffect[] {
  return typeof tool.effects === "function" ? withOwners(tool, []) : withOwners(tool, tool.effects ?? allOf(tool));
}

/** What this call does. @param context.call its arguments match the tool's `params` */
export async function effectsOf(tool: Declared, context: EffectsContext): Promise<readonly ToolEffect[]> {
  const { effects } = tool;
  const given = typeof effects === "function" ? await effects(context.call.arguments, context) : effects;
  return withOwners(tool, given ?? allOf(tool));
}

/** Of a tool that does not say: all that whoever may use it may do. */
function allOf({ scope }: Declared): readonly ToolEffect[] {
  return scope === "operator.admin"
    ? TOOL_EFFECTS
    : TOOL_EFFECTS.filter((effect) => NEEDED[effect] !== "operator.admin");
}

/** What only the owner may use is the owner's to ask for. */
function withOwners({ ownerOnly }: Declared, effects: readonly ToolEffect[]): readonly ToolEffect[] {
  return ownerOnly === true ? [...new Set([...effects, "changes-gateway" as const])] : effects;
}

/** Whose words a result holds, when it does not say so itself. */
export function broughtBy({ brings = "tool" }: Pick<Tool, "brings">, name: string): Origin | undefined {
  return brings === "none" ? undefined : outsideOrigin(brings, name);
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
  return `it ${does}, and this conversation holds words from ${nameOfOrigin(origin)}, who may not ask for that`;
}
