// What can be done to a job: a savepoint, a stop with one, a cancel. Each asks first.

import * as api from "./api.js";
import { ask, tell } from "./dialog.js";

const place = (model) => ({
  name: "directory", label: "Directory", value: model.part.savepoint_directory ?? "",
  placeholder: "a path or URI that the job can write to",
  hint: model.part.savepoint_directory ? null : "the job has no execution.checkpointing.savepoint-dir, so say where",
});

export async function takeSavepoint(model, onDone) {
  const given = await ask({ title: "Take a savepoint", text: "The job goes on while it is written.", confirm: "Take the savepoint", fields: [place(model)] });
  if (!given) return;
  tell("Writing a savepoint…");
  await attempt(async () => tell(`Savepoint written: ${await api.savepoint(model.id, given.directory || null)}`));
  onDone();
}

export async function stopJob(model, onDone) {
  const given = await ask({
    title: `Stop “${model.part.name}”?`, text: "A savepoint is written and the job ends. Start it again from the savepoint with penstock run --from-savepoint.", confirm: "Stop the job", isDangerous: true,
    fields: [place(model), { name: "drain", kind: "checkbox", label: "Fire all windows and timers first (drain)", hint: "only if the job is not to go on later: its results are then final" }],
  });
  if (!given) return;
  tell("Stopping with a savepoint…");
  await attempt(async () => tell(`Stopped; savepoint: ${await api.savepoint(model.id, given.directory || null, { stops: true, drain: given.drain })}`));
  onDone();
}

export async function cancelJob(model, onDone) {
  const given = await ask({ title: `Cancel “${model.part.name}”?`, text: "The job ends at once, without a savepoint. Its checkpoint stays as it is.", confirm: "Cancel the job", isDangerous: true });
  if (!given) return;
  await attempt(async () => {
    await api.cancel(model.id);
    tell("The job is being cancelled.");
  });
  onDone();
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    tell(error.message, true);
  }
}
