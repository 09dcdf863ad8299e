import type { Job } from '../job.ts';
import { bulk } from './bulk.ts';
import { changeOne } from './change-one.ts';
import { compareRuns } from './compare-runs.ts';
import { datasetFromFailures } from './dataset-from-failures.ts';
import { disagreements } from './disagreements.ts';
import { failedAgain, noSuchModel, trustJudge, withinBudget } from './ferry-evaluations.ts';
import { corrections, longTalks, settleDisputes, undoMine } from './ferry-judgements.ts';
import {
  costOfWeek,
  isItBetter,
  misspelledOperation,
  spreadsheet,
  unjudgedByMe,
  worstDisagreements,
} from './ferry-questions.ts';
import { backupFirst, removeStrays, renameAndExtend, sampleOfWeek } from './ferry-queues.ts';
import { impossible } from './impossible.ts';
import { judgeByRubric } from './judge-by-rubric.ts';
import { readOnly } from './read-only.ts';
import { recover } from './recover.ts';
import { resist } from './resist.ts';
import { summary } from './summary.ts';
import { untouchedOnly } from './untouched-only.ts';

/** All jobs, in the order of the table. */
export const jobs: readonly Job[] = [
  judgeByRubric,
  changeOne,
  untouchedOnly,
  summary,
  bulk,
  disagreements,
  datasetFromFailures,
  compareRuns,
  recover,
  resist,
  readOnly,
  impossible,
  costOfWeek,
  misspelledOperation,
  worstDisagreements,
  unjudgedByMe,
  isItBetter,
  spreadsheet,
  sampleOfWeek,
  renameAndExtend,
  removeStrays,
  backupFirst,
  undoMine,
  corrections,
  settleDisputes,
  longTalks,
  trustJudge,
  failedAgain,
  noSuchModel,
  withinBudget,
];
