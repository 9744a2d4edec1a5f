/** Why agents cannot use a skill, in words, each with the next step. */
import type { ResultOf } from "@svc/sdk";
import type { skills } from "@svc/sdk/skills";
import { t } from "../../core/text.ts";
import type { Tone } from "../../parts/show.ts";

export type Skill = ResultOf<typeof skills.status>["skills"][number];

export interface Obstacle {
  readonly why: string;
  readonly next?: string;
}

export function obstaclesOf(skill: Skill): readonly Obstacle[] {
  const { missing, install, primaryEnv, always, filePath } = skill;
  const program = install.length > 0 ? t.skills.nextInstall : t.skills.nextPath;
  const when = (is: unknown, obstacle: Obstacle) => (is === true ? [obstacle] : []);
  return [
    ...when(skill.outside, { why: t.skills.whyOutside, next: t.skills.nextOutside(filePath) }),
    ...when(skill.disabled, { why: t.skills.whyDisabled }),
    ...when(skill.blockedByAllowlist, { why: t.skills.whyBundled, next: t.skills.nextBundled }),
    ...when(skill.excludedByAgent, { why: t.skills.whyAgent, next: t.skills.nextAgent }),
    ...when(missing.os.length > 0, { why: t.skills.whyOs(missing.os.join(", ")) }),
    ...(always
      ? []
      : [
          ...missing.bins.map((bin): Obstacle => ({ why: t.skills.whyBin(bin), next: program })),
          ...when(missing.anyBins.length > 0, {
            why: t.skills.whyAnyBin(missing.anyBins.join(", ")),
            next: program,
          }),
          ...missing.env.map((name): Obstacle => ({
            why: t.skills.whyEnv(name),
            next: name === primaryEnv ? t.skills.nextKey : t.skills.nextEnv,
          })),
          ...missing.config.map((path): Obstacle => ({
            why: t.skills.whyConfig(path),
            next: t.skills.nextConfig,
          })),
        ]),
  ];
}

export function stateOf({ eligible, disabled, outside }: Skill): readonly [text: string, tone: Tone] {
  if (eligible) return [t.skills.usable, "good"];
  if (outside === true) return [t.skills.isOutside, "bad"];
  return disabled ? [t.skills.isDisabled, "neutral"] : [t.skills.unusable, "warning"];
}
