/** Converts thinking levels to the thinking configuration of Gemini. Pure. */
import type { ModelRequest, ThinkingLevel } from "@svc/sdk/models";
import type { ThinkingConfig } from "./wire.ts";

/** Choice: budgets in tokens for Gemini 2.5; -1 lets the model decide. 24,576 is the largest that each of its models accepts. */
const BUDGETS: Readonly<Record<Exclude<ThinkingLevel, "off">, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 20_480,
  xhigh: 24_576,
  adaptive: -1,
};

/** Levels of Gemini from version 3 on; `adaptive` is the model's default. */
const LEVELS = { minimal: "minimal", low: "low", medium: "medium", high: "high", xhigh: "high" } as const;

/** The version of a Gemini model, e.g. 2.5; `undefined` for other models. */
export function geminiVersion(id: string): number | undefined {
  const [, version] = /gemini-(\d+(?:\.\d+)?)/u.exec(id) ?? [];
  return version === undefined ? undefined : Number(version);
}

/**
 * Absent for models without `reasoning`. Without a level, and for `off`, the model's default applies; only Flash models
 * of version 2.5 can be told not to think. An id without a version, e.g. `gemini-flash-latest`, counts as the newest.
 */
export function thinkingConfig({ model, thinking }: ModelRequest): ThinkingConfig | undefined {
  if (model.reasoning !== true || thinking === undefined) return undefined;
  const version = geminiVersion(model.id) ?? 3;
  const isFlash = model.id.includes("flash");
  if (thinking === "off") return version === 2.5 && isFlash ? { thinkingBudget: 0 } : undefined;
  if (version < 3) {
    const level = thinking === "xhigh" && model.xhigh !== true ? "high" : thinking;
    return { includeThoughts: true, thinkingBudget: BUDGETS[level] };
  }
  if (thinking === "adaptive") return { includeThoughts: true };
  const level = LEVELS[thinking];
  // Models other than Flash do not know `minimal`.
  return { includeThoughts: true, thinkingLevel: level === "minimal" && !isFlash ? "low" : level };
}
