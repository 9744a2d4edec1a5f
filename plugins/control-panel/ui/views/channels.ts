import { html } from "lit";
import type { OpenView } from "../core/app.ts";

export default (() => ({ render: () => html`` })) satisfies OpenView;
