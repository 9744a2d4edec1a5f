/** Adds a skill from elsewhere: inspects it, says what it may do, installs exactly what was inspected. */
import type { ResultOf } from "@svc/sdk";
import { skills } from "@svc/sdk/skills";
import { html, nothing, type TemplateResult } from "lit";
import { TriangleAlert } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { askFor, confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { facts } from "../../parts/show.ts";
import { bytes } from "../../parts/time.ts";
import { toast } from "../../parts/toast.ts";

type Package = ResultOf<typeof skills.add>;

/** Sources are fetched with their own deadline of two minutes. */
const FETCH_MS = 180_000;
const SHOWN_FILES = 200;

export async function addSkill(context: ViewContext, reload: () => Promise<void>): Promise<void> {
  let found: Package | undefined;
  const values = await askFor({
    title: t.skills.addTitle,
    text: html`<p>${t.skills.addText}</p>`,
    fields: [
      { name: "source", label: t.skills.from, hint: t.skills.fromHint, isRequired: true },
      { name: "name", label: t.skills.which, hint: t.skills.whichHint },
    ],
    action: t.skills.inspect,
    work: async (given) => {
      found = await context.call(skills.add, paramsOf(given), { timeoutMs: FETCH_MS });
    },
  });
  if (!values || !found) return;
  const { name, digest, replaces } = found;
  const isDone = await confirm({
    title: name,
    text: describe(found),
    action: replaces ? t.skills.replace : t.skills.addNow,
    isDangerous: replaces,
    work: () => context.call(skills.add, { ...paramsOf(values), digest, replace: replaces }, { timeoutMs: FETCH_MS }),
  });
  if (!isDone) return;
  toast(t.skills.added(name), "good");
  await reload();
}

function paramsOf({ source = "", name = "" }: Readonly<Record<string, string>>) {
  return { source: source.trim(), ...(name.trim() === "" ? {} : { name: name.trim() }) };
}

function describe({ description, files, requirements, install, directory, replaces, digest }: Package): TemplateResult {
  const { bins, anyBins, env, config } = requirements;
  const programs = files.filter(({ executable }) => executable);
  const size = files.reduce((sum, file) => sum + file.bytes, 0);
  return html`<p class="break">${description}</p>
    <div class="notice warning">
      ${icon(TriangleAlert)}
      <div>${t.skills.addWarning}</div>
    </div>
    ${replaces ? html`<p><strong>${t.skills.replaces}</strong></p>` : nothing}
    ${facts([
      [
        t.skills.filesLabel,
        html`<details>
          <summary>
            ${t.skills.files(files.length, bytes(size))}${
              programs.length === 0 ? nothing : html`, ${t.skills.executable(programs.length)}`
            }
          </summary>
          <ul class="mono">
            ${files.slice(0, SHOWN_FILES).map((file) => html`<li class="break">${file.path}</li>`)}
          </ul>
        </details>`,
      ],
      [t.skills.needs, [...bins, ...anyBins, ...env, ...config].join(", ")],
      [t.skills.addNow, install.map(({ label }) => label).join(", ")],
      [t.skills.directory, html`<span class="mono">${directory}</span>`],
      [t.skills.digest, html`<span class="mono">${digest.slice(0, 16)}…</span>`],
    ])}`;
}
