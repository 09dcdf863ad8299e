import { type Command, InvalidArgumentError } from 'commander';
import { withService } from '../access/with-runtime.ts';
import { printLine } from '../terminal/print.ts';
import { addChangeFlags, asNumber, runtimeFlags } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

/** Adds `heddle price`, which stores what a model costs at any service that keeps prices. */
export function addPrice(program: Command): void {
  const command = program
    .command('price')
    .description('store what a model costs from now on, for the costs of calls and evaluations and for budgets in USD')
    .argument('<model>', 'name of the model, as results have it')
    .requiredOption('--input <usd>', 'USD for a million tokens of the messages', asPrice)
    .requiredOption('--output <usd>', 'USD for a million tokens of the reply', asPrice);
  explain(command, {
    examples: ['heddle price gpt-5-mini --input 0.25 --output 2'],
    page: 'docs/evaluations.md#what-a-run-costs',
  });
  addChangeFlags(command, runtimeFlags).action((model: string, { input, output }: { input: number; output: number }) =>
    withService(command, async ({ service, project }) => {
      const cost = { prompt_token_cost: input / 1e6, completion_token_cost: output / 1e6 };
      await service.call('createCosts', { body: { project_id: project, costs: { [model]: cost } } });
      printLine(
        `In ${project}, ${model} costs ${input} USD for a million tokens of the messages and ${output} of the reply.`,
      );
    }),
  );
}

function asPrice(text: string): number {
  const usd = asNumber(text);
  if (usd >= 0) return usd;
  throw new InvalidArgumentError('It must not be negative.');
}
