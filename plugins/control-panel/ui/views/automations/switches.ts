/** Switches that turn jobs and mappings on and off. */
import { html, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { attempt } from "../../parts/toast.ts";

/** @param reload loads the list that shows the result. @returns what draws a switch */
export function createSwitches(
  context: ViewContext,
  set: (id: string, isOn: boolean) => Promise<unknown>,
  reload: () => Promise<unknown>,
): (id: string, name: string, isOn: boolean) => TemplateResult {
  const mayChange = context.may("operator.admin");
  /** Switches that were just turned, until the list shows it. */
  const turning = new Map<string, boolean>();
  const turn = async (id: string, isOn: boolean) => {
    turning.set(id, isOn);
    context.redraw();
    await attempt(() => set(id, isOn));
    await reload();
    turning.delete(id);
    context.redraw();
  };
  return (id, name, isOn) =>
    html`<input
      type="checkbox"
      role="switch"
      class="switch"
      aria-label=${t.automations.enabledOf(name)}
      .checked=${turning.get(id) ?? isOn}
      ?disabled=${!mayChange || turning.has(id)}
      @change=${(event: Event) => turn(id, (event.target as HTMLInputElement).checked)}
    />`;
}
