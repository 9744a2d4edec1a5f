/** Decides what a call may do when its model saw text of an author with less authority. Pure. Spec: design/security.md. */
import { mayAsk, type Origin, originName, outsideOrigin, type Scope } from "@svc/sdk";
import { type EffectsContext, type OutsideWords, type Tool, TOOL_EFFECTS, type ToolEffect } from "@svc/sdk/tools";

/** Handling of a call for which the authors of the conversation lack authority. */
export const FROM_OUTSIDE = ["ask", "deny", "allow"] as const;
export type FromOutside = (typeof FROM_OUTSIDE)[number];

/** Scope that every author must have. Absent: any author suffices. */
const NEEDED: Readonly<Partial<Record<ToolEffect, Scope>>> = {
  "sends-out": "operator.write",
  "runs-code": "operator.write",
  "writes-identity": "operator.admin",
  "changes-gateway": "operator.admin",
};

/** The `effects` for which `origin` lacks authority. */
export function unbacked(effects: readonly ToolEffect[], origin: Origin): readonly ToolEffect[] {
  return effects.filter((effect) => {
    const scope = NEEDED[effect];
    return scope !== undefined && !mayAsk(origin, scope);
  });
}

type Declared = Pick<Tool, "effects" | "scope" | "ownerOnly">;

/** Effects that every call of the tool has; few are known if the effects depend on the arguments. */
export function certainEffects(tool: Declared): readonly ToolEffect[] {
  return typeof tool.effects === "function" ? withOwners(tool, []) : withOwners(tool, tool.effects ?? allOf(tool));
}

/** Effects of this call. @param context.call its arguments match the tool's `params` */
export async function effectsOf(tool: Declared, context: EffectsContext): Promise<readonly ToolEffect[]> {
  const { effects } = tool;
  const given = typeof effects === "function" ? await effects(context.call.arguments, context) : effects;
  return withOwners(tool, given ?? allOf(tool));
}

/** Default effects of a tool that declares none: everything that its scope allows. */
function allOf({ scope }: Declared): readonly ToolEffect[] {
  return scope === "operator.admin"
    ? TOOL_EFFECTS
    : TOOL_EFFECTS.filter((effect) => NEEDED[effect] !== "operator.admin");
}

/** Adds `changes-gateway` for tools of the owner, so that only the owner's text suffices. */
function withOwners({ ownerOnly }: Declared, effects: readonly ToolEffect[]): readonly ToolEffect[] {
  return ownerOnly === true ? [...new Set([...effects, "changes-gateway" as const])] : effects;
}

/** Author of a tool's results, unless a result names its own. */
export function broughtBy({ brings = "tool" }: Pick<Tool, "brings">, name: string): Origin | undefined {
  return brings === "none" ? undefined : outsideOrigin(brings, name);
}

const DOES: Readonly<Record<ToolEffect, string>> = {
  reads: "reads",
  "writes-workspace": "writes files",
  "writes-identity": "changes the agent's identity",
  "sends-out": "sends data out of this conversation",
  "runs-code": "runs a program",
  spends: "costs money",
  "changes-gateway": "changes the gateway",
};

/** Reason of a request for approval or a refusal, for people and models. */
export function reasonFor(effects: readonly ToolEffect[], { origin }: Pick<OutsideWords, "origin">): string {
  const does = effects.map((effect) => DOES[effect]).join(" and ");
  return `it ${does}, and this conversation contains text from ${originName(origin)}, who may not request that`;
}
